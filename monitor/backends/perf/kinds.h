/* kinds.h -- what perf's counters count: which of them there are here, and how counts become
 * figures. */
#ifndef STEELYARD_PERF_KINDS_H
#define STEELYARD_PERF_KINDS_H

#include "monitor.h"

enum { KINDS_MOST = 96 };

enum role {
	OF_FIGURE,
	OF_SWITCHES,
	OF_INVOLUNTARY,
	OF_ALL_CALLS,
	OF_ALL_ERRORS,
	OF_CALL,
	OF_ERRORS
};

struct kind {
	enum role   role;
	uint32_t    number; /* of the call or the figure */
	uint32_t    type;   /* of perf_event_attr */
	uint64_t    config;
	const char *filter;
};

struct kinds {
	struct kind list[KINDS_MOST]; /* the first is task-clock */
	size_t      count;
	int         is_user_only; /* nothing of the kernel may be counted */
};
extern struct kinds kinds;

/* Those for that detail. Returns -1 if system calls are asked for and cannot be counted. */
int kinds_choose(enum detail detail);
/* Into figures and calls. Processor time is split as user and system time were before, if they were
 * known. */
void kinds_tell(struct process *process, const uint64_t counts[]);

#endif
