/* agent.c -- see agent.h. */
#include "agent.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/numbers.h"
#include "../workloads/api/far_end.h"
#include "../base/record.h"
#include "carried.h"
#include "clock_facts.h"
#include "fingerprint.h"
#include "lines.h"
#include "../base/sha256.h"
#include "sweep.h"
#include "system.h"
#include "tree.h"
#include "trial.h"

enum { PROTOCOL = 1 };

static struct lines requests;
static int          input_ended;

static void read_more(void)
{
	char    bytes[LINES_CHUNK];
	ssize_t got = stream_take(stream_input(), bytes, sizeof(bytes));

	if (got <= 0)
		input_ended = 1;
	else
		lines_add(&requests, bytes, (size_t)got);
}

/* Where too much waits already, the rest stays in the pipe until the trial has ended. */
static struct stream *listen_to(void)
{
	return lines_have_room(&requests) ? stream_input() : NULL;
}

/* When that was asked, or the input has ended. Other lines wait their turn. */
static int must_stop(const char *id, int has_come)
{
	char wanted[ID_ROOM + 8];

	if (has_come)
		read_more();
	snprintf(wanted, sizeof(wanted), "stop %s", id);
	return input_ended || lines_drop(&requests, wanted);
}

static int next_turn(const char *id, uint64_t *batches)
{
	char beginning[ID_ROOM + 8], number[24];

	snprintf(beginning, sizeof(beginning), "turn %s ", id);
	return lines_take_out(&requests, beginning, number, sizeof(number)) &&
	       !parse_number(number, batches);
}

static const struct listener listener = { listen_to, must_stop, next_turn };

static void refuse(const char *id, const char *why)
{
	record_open("error");
	record_text("trial", id && *id ? id : NULL);
	record_text("reason", why);
	record_close(1);
}

static int trial(const char *directory, char *arguments, const struct listener *who)
{
	const char    *under[UNDER_MOST + 1];
	struct request request;
	char           why[512];

	if (request_parse(arguments, &request, why, sizeof(why))) {
		refuse(request.id, why);
		return 2;
	}
	if (settings.copies > 1 && self_under(under)) {
		refuse(request.id, "each of several copies would have its own monitor");
		return 2;
	}
	if (who && input_ended) {
		refuse(request.id,
		       "it was not started, because the requests ended before its turn");
		return 2;
	}
	return trial_supervise(&request, directory, who);
}

void hello_write(void)
{
	struct clock_facts facts = clock_measure();
	char               hex[SHA256_HEX_ROOM];

	record_open("hello");
	record_number("protocol", PROTOCOL);
	record_text("version", STEELYARD_VERSION);
	record_text("program_sha256", sha256_file(self_path(), hex) ? NULL : hex);
	record_text("compiler", build_compiler());
	record_text("libc", build_libc());
	record_text("clock", clock_name);
	record_number("clock_resolution_ns", facts.resolution_ns);
	record_number("clock_cost_ns", facts.cost_ns);
	record_close(1);
}

static void parameters_write(const struct parameter *parameters)
{
	for (const struct parameter *p = parameters; p && p->name; p++) {
		record_object(NULL);
		record_text("name", p->name);
		record_text("summary", p->summary);
		if (p->text)
			record_text("initial", p->text);
		else
			record_number("initial", *p->value);
		record_number("least", p->least);
		record_number("most", p->most);
		record_object_close();
	}
}

static void metric_write(const struct phase *phase)
{
	record_object(NULL);
	record_text("name", phase->metric);
	record_text("less", phase->less);
	record_truth("reported", phase->reported != NULL);
	record_text("per", phase->per);
	record_text("unit", unit_of(phase));
	record_object_close();
}

static void workload_write(const struct workload *w)
{
	struct parameter swept[4] = { 0 };

	record_object(NULL);
	record_text("name", w->name);
	record_text("group", w->group);
	record_text("summary", w->summary);
	record_text("operation", w->operation);
	record_list("metrics");
	if (w->run)
		metric_write(&(struct phase){ .metric = only_metric(w) });
	for (const struct phase *p = w->phases; p && p->metric; p++)
		metric_write(p);
	record_list_close();
	record_text("measure", w->bytes ? "bandwidth" : w->count ? "count" : "time");
	record_text("counts", w->counts);
	record_truth("fewer", w->fewer);
	record_text("code_sha256", w->code ? w->code->sha256 : NULL);
	record_truth("groups", w->tells && strcmp(w->tells, "group") == 0);
	record_text("sweeps", w->sweep ? w->sweep->name : NULL);
	record_text("sweep_unit", w->sweep ? w->sweep->unit : NULL);
	record_number("sweep_grain", w->sweep ? w->sweep->grain : 0);
	record_list("parameters");
	parameters_write(w->parameters);
	if (w->sweep)
		sweep_parameters(w->sweep, swept);
	parameters_write(swept);
	record_list_close();
	record_number("performances", w->performances);
	record_truth("passes", w->pass != NULL);
	record_truth("takes_turns", workload_takes_turns(w));
	record_number("instructions", w->instructions);
	record_object("calls");
	for (const struct call *c = w->calls; c && c->name; c++)
		record_number(c->name, c->per_operation);
	record_object_close();
	if (w->counted)
		record_number("counted_address", (uint64_t)(uintptr_t)w->counted);
	else
		record_null("counted_address");
	record_object_close();
}

void workloads_write(void)
{
	record_open("workloads");
	record_list("parameters");
	parameters_write(trial_parameters);
	record_list_close();
	record_list("workloads");
	for (int i = 0; workloads[i]; i++)
		workload_write(workloads[i]);
	record_list_close();
	record_close(1);
}

/* The system's clock now: the laboratory reads its own before it asks and when it hears. */
static void clock_write(void)
{
	record_open("clock");
	record_number("clock_ns", clock_ns());
	record_close(1);
}

/* "far ADDRESS TOKEN": the far end of other systems' network workloads, for as long as this agent
 * lives. */
static void far(char *arguments)
{
	char *rest = arguments, *address = strtok_r(rest, " ", &rest),
	     *token = strtok_r(rest, " ", &rest);
	char     chosen[FAR_ADDRESS_ROOM];
	uint16_t port;

	if (!address || !token) {
		refuse(NULL, "a far end needs an address, or -, and a token");
	} else if (far_end_start(address, token, chosen, &port)) {
		refuse(NULL, outcome_why());
	} else {
		record_open("far");
		record_text("address", chosen);
		record_number("port", port);
		record_close(1);
	}
}

/* Refuses a line of which nothing can be trusted but, if it begins as a trial, whose it is. */
static void refuse_line(const char *line, const char *why)
{
	char id[ID_ROOM];

	request_id(line, id);
	refuse(id, why);
}

static void refuse_unknown(const char *line)
{
	char why[256];

	snprintf(
		why, sizeof(why),
		"a request is: trial ID WORKLOAD name=value ..., describe, list, clock, far ADDRESS TOKEN, stop ID, "
		"turn ID BATCHES, carry NAME KIND, bytes BASE64, carried, or quit; "
		"not '%.80s'",
		line);
	refuse(NULL, why);
}

/* Returns whether it was the last. */
static int obey(const char *directory, char *line, size_t length)
{
	char why[128];

	if (length > LINE_MOST) {
		snprintf(why, sizeof(why), "the request is longer than %d bytes: nothing was done",
		         LINE_MOST);
		refuse_line(line, why);
	} else if (strlen(line) < length)
		refuse_line(line, "the request holds a zero byte: nothing was done");
	else if (!strncmp(line, "trial ", 6))
		trial(directory, line + 6, &listener);
	else if (!strcmp(line, "describe"))
		fingerprint_write(directory, "");
	else if (!strcmp(line, "list"))
		workloads_write();
	else if (!strncmp(line, "far ", 4))
		far(line + 4);
	else if (!strcmp(line, "clock"))
		clock_write();
	else if (!strcmp(line, "quit"))
		return 1;
	else if (carried_obey(directory, line))
		return 0;
	else if (*line && strncmp(line, "stop ", 5) && strncmp(line, "turn ", 5))
		refuse_unknown(line); /* those two may come too late */
	return 0;
}

int records_status(void)
{
	if (!record_error())
		return 0;
	fprintf(stderr, "steelyard-load: writing a record: %s\n", system_error(record_error()));
	return 1;
}

int agent_loop(const char *directory)
{
	char  *line;
	size_t length;
	int    over = 0;

	hello_write();
	while (!over && !input_ended && !record_error()) {
		read_more();
		while (!over && !record_error() && (line = lines_take(&requests, &length)))
			over = obey(directory, line, length);
	}
	if (!over && (line = lines_take_open(&requests, &length)))
		refuse_line(line, "the requests ended within this one: nothing was done");
	return records_status();
}

/* What a workload keeps from trial to trial stands beside the trials' directories. */
static int make_own(const char *directory, char own[PATH_MAX])
{
	if (snprintf(own, PATH_MAX, "%s/steelyard-run-XXXXXX", directory) < PATH_MAX &&
	    !directory_make_fresh(own)) {
		tree_removed_if_killed(own);
		directory_spread(own);
		return 0;
	}
	perror("steelyard-load: making the working directory");
	return -1;
}

static void remove_own(const char *own)
{
	tree_remove(own);
	tree_removed();
}

int agent_loop_below(const char *directory)
{
	char own[PATH_MAX];
	int  status;

	if (make_own(directory, own))
		return 1;
	status = agent_loop(own);
	remove_own(own);
	return status;
}

int agent_once(const char *directory, int argc, char *argv[])
{
	char   line[LINE_MOST + 1] = "1", own[PATH_MAX];
	size_t count = 1;
	int    status;

	for (int i = 0; i < argc; i++) {
		int more = snprintf(line + count, sizeof(line) - count, " %s", argv[i]);

		if (more < 0 || count + (size_t)more >= sizeof(line)) {
			fprintf(stderr, "steelyard-load: the request is longer than %d bytes\n",
			        LINE_MOST);
			return 2;
		}
		count += (size_t)more;
	}
	if (make_own(directory, own))
		return 1;
	status = trial(own, line, NULL);
	remove_own(own);
	return records_status() ? 1 : status;
}
