/* trial.c -- what a trial is asked for, and the fresh process that does it. See trial.h. */
#include "trial.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "channel.h"
#include "parameters.h"
#include "record.h"

#define WORKLOAD(name) extern const struct workload workload_##name;
#include "../list.def"
#undef WORKLOAD

#define WORKLOAD(name) &workload_##name,
const struct workload *const workloads[] = {
#include "../list.def"
	NULL
};
#undef WORKLOAD

enum { BATCHES_MOST = 10000 };

#define INITIAL_SETTINGS { .copies = 1, .batches = 20, .warmup_ns = 100000000, .limit_ms = 60000 }
struct trial_settings settings = INITIAL_SETTINGS;

const struct parameter trial_parameters[] = {
	{ "copies", "identical processes that start together", &settings.copies, 1, 1024 },
	{ "batches", "batches measured, at most", &settings.batches, 1, BATCHES_MOST },
	{ "operations", "operations in a batch; 0: as many as fill it", &settings.operations, 0,
	  UINT64_MAX / 4 },
	{ "batch_ns", "wished length of a batch; 0: 10 ms or what the clock needs",
	  &settings.batch_ns, 0, 60000000000 },
	{ "warmup_ns", "run before measuring; 0: not at all beyond sizing", &settings.warmup_ns, 0,
	  60000000000 },
	{ "limit_ms", "the whole trial is killed after that", &settings.limit_ms, 1, 86400000 },
	{ "pad", "bytes added to the environment", &settings.pad, 0, 65536 },
	{ 0 },
};

const struct workload *workload_find(const char *name)
{
	for (int i = 0; workloads[i]; i++)
		if (!strcmp(workloads[i]->name, name))
			return workloads[i];
	return NULL;
}

static int settings_apply(const struct workload *workload, const char *setting, char *why,
                          size_t why_room)
{
	const struct parameter *const tables[] = { trial_parameters, workload->parameters };

	return set_parameter(tables, 2, setting, why, why_room);
}

int request_parse(char *line, struct request *request, char *why, size_t why_room)
{
	static const struct trial_settings initial = INITIAL_SETTINGS;

	char *rest = line, *id = strtok_r(rest, " ", &rest), *name = strtok_r(rest, " ", &rest);

	settings = initial;
	request->setting_count = 0;
	request->id[0] = 0;
	if (!id || strlen(id) >= sizeof(request->id)) {
		snprintf(why, why_room, "a trial needs an ID of 1 to %d characters", ID_ROOM - 1);
		return -1;
	}
	strcpy(request->id, id);
	request->workload = name ? workload_find(name) : NULL;
	if (!request->workload) {
		snprintf(why, why_room, "there is no workload '%.80s'", name ? name : "");
		return -1;
	}
	for (char *setting; (setting = strtok_r(rest, " ", &rest));) {
		if (request->setting_count == SETTINGS_MOST - 1) {
			snprintf(why, why_room, "more than %d parameters", SETTINGS_MOST - 1);
			return -1;
		}
		if (settings_apply(request->workload, setting, why, why_room))
			return -1;
		request->settings[request->setting_count++] = setting;
	}
	request->settings[request->setting_count] = NULL;
	return 0;
}

/* From here on: the trial process. */

static struct {
	const struct workload *workload;
	char                   directory[PATH_MAX];
	uint64_t               copy;
	struct phase           phases[PHASES_MOST + 1];
	struct batch_plan      plans[PHASES_MOST];
	struct use {
		uint64_t      operations;
		struct rusage rusage; /* differences, of this process and its waited-for children */
		uint64_t      user_ns, system_ns;
	} uses[PHASES_MOST];
	uint64_t *durations_ns[PHASES_MOST];
	uint64_t  start_ns, end_ns;
	char      why[512];
} t;

int fail(const char *call)
{
	int error = errno; /* before anything can change it */

	snprintf(t.why, sizeof(t.why), "%s: %s", call, strerror(error));
	return OUTCOME_FAILED;
}

static void explain(const char *format, va_list arguments)
{
	vsnprintf(t.why, sizeof(t.why), format, arguments);
}

int fail_check(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	explain(format, arguments);
	va_end(arguments);
	return OUTCOME_FAILED;
}

int unsupported(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	explain(format, arguments);
	va_end(arguments);
	return OUTCOME_UNSUPPORTED;
}

const char *trial_directory(void)
{
	return t.directory;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* This process and the children it has waited for, since the last call; added to a phase's use. A
 * partner process counts when teardown waits for it, and so for the last phase. */
static void use_add(struct use *use)
{
	static struct rusage last[2];
	static const int     who[2] = { RUSAGE_SELF, RUSAGE_CHILDREN };

	for (int i = 0; i < 2; i++) {
		struct rusage now;

		getrusage(who[i], &now);
		if (use) {
			use->user_ns += timeval_ns(now.ru_utime) - timeval_ns(last[i].ru_utime);
			use->system_ns += timeval_ns(now.ru_stime) - timeval_ns(last[i].ru_stime);
			use->rusage.ru_minflt += now.ru_minflt - last[i].ru_minflt;
			use->rusage.ru_majflt += now.ru_majflt - last[i].ru_majflt;
			use->rusage.ru_nvcsw += now.ru_nvcsw - last[i].ru_nvcsw;
			use->rusage.ru_nivcsw += now.ru_nivcsw - last[i].ru_nivcsw;
			use->rusage.ru_inblock += now.ru_inblock - last[i].ru_inblock;
			use->rusage.ru_oublock += now.ru_oublock - last[i].ru_oublock;
		}
		last[i] = now;
	}
}

static int phase_count(void)
{
	int count = 0;

	while (t.phases[count].metric)
		count++;
	return count;
}

static int prepare(void)
{
	struct batch_aim aim = { .clock      = clock_measure(),
		                 .batch_ns   = settings.batch_ns,
		                 .warmup_ns  = settings.warmup_ns,
		                 .operations = settings.operations,
		                 .batches    = settings.batches };
	int outcome;

	if (t.workload->setup && (outcome = t.workload->setup()))
		return outcome;
	use_add(NULL);
	for (int i = 0; i < phase_count(); i++) {
		if ((outcome = batch_size(&aim, t.phases[i].run, &t.plans[i])))
			return outcome;
		t.uses[i].operations = t.plans[i].spent;
		use_add(&t.uses[i]);
		t.durations_ns[i] = calloc(t.plans[i].batches, sizeof(uint64_t));
		if (!t.durations_ns[i])
			return fail("calloc");
	}
	return 0;
}

/* Tells the agent this copy's batch sizes, takes copy 0's in their place, and waits at the gate. */
static int wait_at_gate(void)
{
	char line[256], *rest = line;
	int  length = 0, outcome;

	for (int i = 0; i < phase_count(); i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
		                   " %" PRIu64 " %" PRIu64, t.plans[i].operations,
		                   t.plans[i].batches);
	if (channel_say("ready%s\n", line) || channel_hear(line, sizeof(line)))
		return fail("agent");
	for (int i = 0; i < phase_count(); i++) {
		uint64_t own = t.plans[i].batches;

		if (take_number(&rest, &t.plans[i].operations) ||
		    take_number(&rest, &t.plans[i].batches))
			return fail_check("the agent's answer was not understood");
		if (t.plans[i].batches > own) {
			free(t.durations_ns[i]);
			t.durations_ns[i] = calloc(t.plans[i].batches, sizeof(uint64_t));
			if (!t.durations_ns[i])
				return fail("calloc");
		}
	}
	outcome = channel_say("set\n");
	return outcome || channel_wait_for_gate() ? fail("agent") : 0;
}

static int measure(void)
{
	int outcome = 0;

	t.start_ns = clock_ns();
	for (int i = 0; i < phase_count() && !outcome; i++) {
		outcome = batch_measure(&t.plans[i], t.phases[i].run, t.durations_ns[i]);
		t.uses[i].operations += t.plans[i].operations * t.plans[i].batches;
		if (t.phases[i + 1].metric)
			use_add(&t.uses[i]);
	}
	t.end_ns = clock_ns();
	return outcome;
}

static void write_records(void)
{
	for (int i = 0; i < phase_count(); i++) {
		const struct use *use = &t.uses[i];

		record_open("samples");
		record_number("copy", t.copy);
		record_text("metric", t.phases[i].metric);
		record_text("unit", "ns");
		record_number("operations", t.plans[i].operations);
		record_numbers("durations_ns", t.durations_ns[i], t.plans[i].batches);
		record_close(CHANNEL_UP);

		record_open("usage");
		record_number("copy", t.copy);
		record_text("metric", t.phases[i].metric);
		record_number("operations", use->operations);
		record_number("user_ns", use->user_ns);
		record_number("system_ns", use->system_ns);
		record_number("faults_minor", (uint64_t)use->rusage.ru_minflt);
		record_number("faults_major", (uint64_t)use->rusage.ru_majflt);
		record_number("switches_voluntary", (uint64_t)use->rusage.ru_nvcsw);
		record_number("switches_involuntary", (uint64_t)use->rusage.ru_nivcsw);
		record_number("blocks_read", (uint64_t)use->rusage.ru_inblock);
		record_number("blocks_written", (uint64_t)use->rusage.ru_oublock);
		record_close(CHANNEL_UP);
	}
}

static const char *outcome_word(int outcome)
{
	return outcome == OUTCOME_OK ? "ok" : outcome == OUTCOME_UNSUPPORTED ? "unsupported" : "failed";
}

/* argv: COPY DIRECTORY WORKLOAD name=value ... */
int trial_process(int argc, char *argv[])
{
	char why[256];
	int  outcome;

	if (argc < 3 || parse_number(argv[0], &t.copy) || !(t.workload = workload_find(argv[2])))
		return 2;
	/* Copies do the same in places of their own: two must not write one file. */
	snprintf(t.directory, sizeof(t.directory), "%s/%s", argv[1], argv[0]);
	if (mkdir(t.directory, 0700)) {
		fail("making the working directory");
		channel_say("outcome failed %s\n", t.why);
		return 1;
	}
	for (int i = 3; i < argc; i++)
		if (settings_apply(t.workload, argv[i], why, sizeof(why)))
			return 2;
	if (t.workload->run)
		t.phases[0] = (struct phase){ "time", t.workload->run };
	else
		for (int i = 0; i < PHASES_MOST && t.workload->phases[i].metric; i++)
			t.phases[i] = t.workload->phases[i];

	outcome = prepare();
	if (!outcome)
		outcome = wait_at_gate();
	if (!outcome)
		outcome = measure();
	if (t.workload->teardown)
		t.workload->teardown();
	if (t.start_ns && !outcome) {
		use_add(&t.uses[phase_count() - 1]);
		write_records();
	}
	if (t.start_ns)
		channel_say("span %" PRIu64 " %" PRIu64 "\n", t.start_ns, t.end_ns);
	channel_say("outcome %s %s\n", outcome_word(outcome), t.why);
	return outcome ? 1 : 0;
}
