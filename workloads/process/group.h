/* group.h -- many processes (or threads) at once, each of which solves the same systems of equations.
 *
 * The trial's process starts members one after another, as fast as the system allows. Each is a start of
 * this program, which maps the machine code of linpack, sees to its stack, and calls it `iterations` times;
 * it writes when it began and ended, and 16 moments on the way, into memory that it shares with its starter,
 * and so says nothing to anybody while others run. The starter notes when it asked for each, and when and
 * how it saw each end.
 */
#ifndef STEELYARD_PROCESS_GROUP_H
#define STEELYARD_PROCESS_GROUP_H

#include <stdint.h>

#include "../api/workload.h"

/* What a group is to be; the parameters of the workloads that have one. */
struct group_order {
	uint64_t processes;  /* how many */
	uint64_t iterations; /* systems of equations that each solves */
	uint64_t threads;    /* 1: threads of one process */
	uint64_t pinned;     /* 1: each to one processor, in turn */
	uint64_t nice;       /* every second one is so much nicer */
	uint64_t memory;     /* KiB that each writes through before each iteration */
	uint64_t together;   /* 1: none begins before all were made */
};

#define GROUP_PARAMETERS(order)                                                                            \
	NUMBER("iterations", "systems of equations that each process solves", &(order).iterations, 1,      \
	       1000000000),                                                                                \
	NUMBER("threads", "1: threads of one process in place of processes", &(order).threads, 0, 1),      \
	NUMBER("pinned", "1: each is bound to one processor, in turn", &(order).pinned, 0, 1),             \
	NUMBER("nice", "every second one is so much nicer", &(order).nice, 0, 19),                         \
	NUMBER("memory", "KiB that each writes through before each system of equations", &(order).memory, \
	       0, 1 << 22)

/* Makes the group, waits until all of it has ended, and keeps what happened, under that metric's name, for
 * group_tell. Returns 0 if all were created and finished; else what failed, with the trial's reason; or what
 * unsupported() returned. */
int group_perform(const struct group_order *order, const char *metric);

/* The same, keeping nothing. Returns how many finished; fewer than asked for if not all could be created. */
uint64_t group_try(const struct group_order *order);

/* Writes a `group` record for each group that was performed: a workload's tell. */
void group_tell(uint64_t copy, int file);

/* In a member's process, which is one of linpack_processes whoever has started it. argv: HANDLE BYTES INDEX. */
int group_member_main(int argc, char *argv[]);

#endif
