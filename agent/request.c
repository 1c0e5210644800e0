/* request.c -- what a trial is asked for: the list of workloads, and a request line's settings. See
 * trial.h. */
#include "trial.h"

#include <stdio.h>
#include <string.h>

#include "../base/parameters.h"
#include "sweep.h"

#define WORKLOAD(group, name) extern const struct workload workload_##name;
#include "../workloads/list.def"
#undef WORKLOAD

#define WORKLOAD(group, name) &workload_##name,
const struct workload *const workloads[] = {
#include "../workloads/list.def"
	NULL
};
#undef WORKLOAD

enum { BATCHES_MOST = 10000 };

struct trial_settings settings = {
	.copies = 1, .batches = 20, .warmup_ns = 100000000, .limit_ms = 60000
};

const struct parameter trial_parameters[] = {
	NUMBER("copies", "identical processes that start together", &settings.copies, 1,
	       COPIES_MOST),
	NUMBER("batches", "batches measured, at most", &settings.batches, 1, BATCHES_MOST),
	NUMBER("operations", "operations in a batch; 0: as many as fill it", &settings.operations,
	       0, UINT64_MAX / 4),
	NUMBER("batch_ns", "target length of a batch; 0: 10 ms or what the clock needs",
	       &settings.batch_ns, 0, 60000000000),
	NUMBER("warmup_ns", "warm-up before measuring; 0: none beyond sizing", &settings.warmup_ns,
	       0, 60000000000),
	NUMBER("limit_ms", "time limit of the whole trial", &settings.limit_ms, 1, 86400000),
	NUMBER("pad", "bytes added to the environment", &settings.pad, 0, 65536),
	NUMBER("place", "0: as scheduled; 1: all on one processor; 2: partners on a second",
	       &settings.place, 0, 2),
	NUMBER("seed", "random seed: of a curve's order, of the processor, of a load's moments",
	       &settings.seed, 0, UINT32_MAX),
	NUMBER("turns", "1: each batch is done when its turn is given", &settings.turns, 0, 1),
	{ 0 },
};

const struct workload *workload_find(const char *name)
{
	for (int i = 0; workloads[i]; i++)
		if (!strcmp(workloads[i]->name, name))
			return workloads[i];
	return NULL;
}

int workload_takes_turns(const struct workload *workload)
{
	if (workload->count || workload->performances)
		return 0;
	if (workload->run)
		return !workload->tells;
	for (int i = 0; workload->phases[i].metric; i++)
		if (!workload->phases[i].reported != !i || (i && !workload->phases[i].unit))
			return 0;
	return 1;
}

const char *only_metric(const struct workload *workload)
{
	return workload->bytes ? "bandwidth" : workload->count ? "count" : "time";
}

const char *unit_of(const struct phase *phase)
{
	return phase->unit ? phase->unit : "ns";
}

int setting_apply(const struct workload *workload, const char *setting, char *why, size_t why_room)
{
	struct parameter              swept[4];
	const struct parameter *const tables[] = { trial_parameters, workload->parameters,
		                                   workload->sweep ? swept : NULL };

	if (workload->sweep)
		sweep_parameters(workload->sweep, swept);
	if (workload->is_absent && !set_parameter_knows(tables, 3, setting))
		return 0;
	return set_parameter(tables, 3, setting, why, why_room);
}

void request_id(const char *line, char id[ID_ROOM])
{
	size_t length = !strncmp(line, "trial ", 6) ? strcspn(line += 6, " ") : 0;

	snprintf(id, ID_ROOM, "%.*s", length < ID_ROOM ? (int)length : 0, line);
}

int request_parse(char *line, struct request *request, char *why, size_t why_room)
{
	char *rest = line, *id = strtok_r(rest, " ", &rest), *name = strtok_r(rest, " ", &rest);

	parameters_restore();
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
		if (request->setting_count == PARAMETERS_SET_MOST - 1) {
			snprintf(why, why_room, "there are more than %d parameters",
			         PARAMETERS_SET_MOST - 1);
			return -1;
		}
		if (setting_apply(request->workload, setting, why, why_room))
			return -1;
		request->settings[request->setting_count++] = setting;
	}
	request->settings[request->setting_count] = NULL;
	return 0;
}
