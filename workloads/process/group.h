/* group.h -- many processes or threads at once that solve the same systems of equations.
 *
 * The trial's process starts the members one after another, as fast as the system allows. Each is
 * this program started again. It maps the machine code of linpack, makes sure of its stack, and
 * calls the code `iterations` times. It writes its beginning, its end and 16 moments in between
 * into memory that it shares with its starter, so that it sends nothing while others run. The
 * starter notes when it requested each member, and when and how each one ended.
 */
#ifndef STEELYARD_PROCESS_GROUP_H
#define STEELYARD_PROCESS_GROUP_H

#include <stdint.h>

#include "../api/workload.h"

/* What a group consists of: parameters of the workloads. */
struct group_order {
	uint64_t processes;  /* how many */
	uint64_t iterations; /* systems of equations that each solves */
	uint64_t threads;    /* 1: threads of one process */
	uint64_t pinned;     /* 1: each to one processor, in turn */
	uint64_t nice;       /* every second one is so much nicer */
	uint64_t memory;     /* KiB that each writes through before each iteration */
	uint64_t together;   /* 1: none begins before all were made */
};

#define GROUP_PARAMETERS(order)                                                                    \
	NUMBER("iterations", "systems of equations that each process solves", &(order).iterations, \
	       1, 1000000000),                                                                     \
		NUMBER("threads", "1: threads of one process instead of processes",                \
	               &(order).threads, 0, 1),                                                    \
		NUMBER("pinned", "1: bind each to one processor, in turn", &(order).pinned, 0, 1), \
		NUMBER("nice", "increment of the nice value of every second process",              \
	               &(order).nice, 0, 19),                                                      \
		NUMBER("memory", "KiB that each process writes before each system of equations",   \
	               &(order).memory, 0, 1 << 22)

/* Starts the group, waits until all of it has ended, and keeps what happened for group_tell, under
 * the metric's name. Returns 0 if all were created and finished; otherwise what fail_check() or
 * unsupported() returned. */
int group_perform(const struct group_order *order, const char *metric);

/* The same, but keeps nothing. Returns how many finished. */
uint64_t group_try(const struct group_order *order);

/* A workload's tell: writes a `group` record for each group performed. */
void group_tell(uint64_t copy, int file);

/* The member hook of linpack_processes, for the members of both workloads. argv: HANDLE BYTES
 * INDEX. */
int group_member_main(int argc, char *argv[]);

#endif
