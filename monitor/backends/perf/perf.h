/* perf.h -- what the parts of this backend share: roots, the processes that these are threads of,
 * and the family. */
#ifndef STEELYARD_PERF_H
#define STEELYARD_PERF_H

#include "follow/family.h"
#include "kinds.h"
#include "rings.h"

enum { PROCESSORS_MOST = 1024, THREADS_MOST = 4096 };
#define PACE_NS  UINT64_C(50000000) /* between passes over the rings */
#define SWEEP_NS UINT64_C(1000000000)

/* A thread that ran when the watch began, or the command's: what it makes inherits its counters. */
struct root {
	struct origin *origin;
	pid_t          thread;
	uint64_t       opened_ns;
	int            file[KINDS_MOST];
	struct ring    ring[KINDS_MOST];
	int           *task_file; /* one a processor */
};

/* The process of roots. */
struct origin {
	pid_t            pid;
	struct relative *member; /* NULL: its record is written */
	uint64_t         open;   /* processes that descend from it and have no record yet */
	uint64_t         outside[KINDS_MOST]; /* what those counted that have ended */
	int              is_torn;             /* something is missing in that */
};

struct relative {
	struct member  member;
	struct origin *origin;
	uint64_t       reports;            /* counters of ended threads that have come, */
	uint64_t       counts[KINDS_MOST]; /* and their sums */
	int            is_partial;         /* it has not all counters */
	int            is_starting; /* it executes a program, of which nothing is mapped yet */
	int            is_unseen;   /* it runs without events: see unseen.c */
};

extern struct perf {
	struct root   *root;
	size_t         roots, roots_room;
	struct ring    tasks[PROCESSORS_MOST];
	size_t         processors;
	size_t         pages; /* of a counter's ring */
	struct exits   exits;
	struct account account;
	uint64_t       attached_ns; /* when all counters were there; 0: from the first moment */
	uint64_t       ended;       /* processes */
	uint64_t       unseen;      /* that live without events */
	pid_t          command;
	int            command_runs; /* its own program, not yet ours */
	const char    *cgroup;       /* that is watched; NULL */
	const char    *failed;       /* what could not be opened */
} perf;

static inline struct relative *relative(struct member *member)
{
	return (struct relative *)member; /* which it begins with */
}

static inline int is_origin(const struct relative *one)
{
	return one->origin && one->origin->member == one;
}

/* probe.c */
int probe(const struct order *order, char *why, size_t why_room);

/* roots.c */
/* Returns 0, or -1 with a sentence. */
int roots_find_processors(char *why, size_t why_room);
/* Processors that have come since. */
uint64_t roots_unheard(void);
/* Opens a thread's counters, off until its exec if it `is_held`. Returns 0, or -1 with errno and
 * `failed`. */
int root_open(struct origin *origin, pid_t thread, int is_held);
void root_close(struct root *root);
void roots_close(void);
struct root *root_of(pid_t thread);
/* Adds what its counters say by now. */
void root_read(const struct root *root, uint64_t counts[KINDS_MOST]);

/* events.c: births, execs and ends, up to that moment. */
void events_take(uint64_t until_ns);

/* unseen.c: processes that the kernel has taken the events from, and their children. */
void unseen_begin(struct relative *one);
/* Looks at all of them in /proc, and says of those that have gone that they are dead. */
void unseen_look(void);
/* What is known of one at its end: lower bounds. */
void unseen_finish(struct relative *one);

/* shares.c: what each process has counted, and when all of that is known. */
/* The first one's own share, as long as nothing that it made has yet to say what it did; else
 * -1. */
int shares_own(const struct origin *origin, uint64_t counts[KINDS_MOST]);
/* Takes what has come, and writes a record of those that have ended. */
void shares_take(int is_last);
void shares_finish(struct relative *member);

#endif
