/* turn.h -- what the workloads share in which two processes pass the turn to each other: the
 * partner, its count of passes in shared memory, and the pipes that tell it the number of round
 * trips.
 *
 * setup()   turn_share(), then what the turn is passed by, then turn_start(serve)
 * serve()   turn_join(), turn_ready(), and for each turn_batch() its passes, each counted
 * run()     turn_give(operations), and after each round trip turn_check()
 * teardown  turn_end()
 */
#ifndef STEELYARD_SYSCALL_TURN_H
#define STEELYARD_SYSCALL_TURN_H

#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

#ifdef _WIN32
#include "../api/windows/error.h"
#endif

enum { TURN_OBJECTS_MOST = 4 };

/* What the partner gets. On Windows the objects are inheritable handles that the workload has
 * made. */
static struct {
	int      batch[2], ready[2]; /* round trips to do next; the partner's beginning */
	intptr_t memory;             /* the handle of what both share */
	intptr_t objects[TURN_OBJECTS_MOST];
} turn = { .batch = { -1, -1 }, .ready = { -1, -1 }, .memory = -1 };

static pid_t turn_partner = -1;

/* One page: the workload's own part, and at the end, in a cache line of its own, the partner's
 * passes. */
enum { TURN_BYTES = 4096, TURN_ROOM = TURN_BYTES - 128 };
static void              *turn_shared;
static volatile uint64_t *turn_passes;

static inline void turn_map(void)
{
	turn_passes = (volatile uint64_t *)(void *)((char *)turn_shared + TURN_ROOM);
}

static inline int turn_share(void)
{
	turn_shared = shared_make(TURN_BYTES, &turn.memory);
	if (!turn_shared)
		return fail("sharing memory");
#ifdef _WIN32
	if (!SetHandleInformation((HANDLE)turn.memory, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)) {
		windows_failed();
		return fail("SetHandleInformation");
	}
#endif
	turn_map();
	return 0;
}

/* Starts the partner and waits until it is ready. Otherwise the first batch would include its
 * start. */
static inline int turn_start(void (*serve)(void))
{
	char byte;

	if (pipe_make(turn.batch) || pipe_make(turn.ready))
		return fail("pipe");
	turn_partner = partner_start(serve, &turn, sizeof(turn));
	if (turn_partner < 0)
		return fail("making the partner");
	close(turn.batch[0]);
	close(turn.ready[1]);
	turn.batch[0] = turn.ready[1] = -1;
	return read_whole(turn.ready[0], &byte, 1) ? fail_check("the partner could not begin") : 0;
}

/* For the partner, like the next three. Returns 0, or -1 if it cannot serve. */
static inline int turn_join(void)
{
	close(turn.batch[1]);
	close(turn.ready[0]);
	if (!turn_shared && !(turn_shared = shared_open(turn.memory, TURN_BYTES)))
		return -1;
	turn_map();
	return 0;
}

static inline int turn_ready(void)
{
	return write_whole(turn.ready[1], "", 1);
}

/* Waits for the next batch, and returns whether there is one. */
static inline int turn_batch(uint64_t *trips)
{
	return !read_whole(turn.batch[0], trips, sizeof(*trips));
}

/* The partner's passes, where three things pass the turn and each process holds one or two of them.
 * It begins with 2: waits for 1, frees 2; waits for 0, frees 1; ... */
INLINED void turn_serve_by_three(int (*take)(uint64_t), int (*let_go)(uint64_t))
{
	uint64_t trips, which = 1;

	while (turn_batch(&trips))
		for (; trips--; which += 2) {
			if (take(which))
				return;
			++*turn_passes;
			if (let_go(which + 1))
				return;
		}
}

static inline int turn_give(uint64_t operations)
{
	return write_whole(turn.batch[1], &operations, sizeof(operations)) ? fail("write") : 0;
}

/* Checks that the partner has had the turn once more than last time. */
static inline int turn_check(void)
{
	static uint64_t due;

	if (*turn_passes == ++due)
		return 0;
	return fail_check("the turn came back after %llu passes, not %llu",
	                  (unsigned long long)*turn_passes, (unsigned long long)due);
}

static inline void turn_end(void)
{
	for (int end = 0; end < 2; end++) {
		if (turn.batch[end] >= 0)
			close(turn.batch[end]);
		if (turn.ready[end] >= 0)
			close(turn.ready[end]);
	}
	partner_end(&turn_partner);
	if (turn_shared) {
		shared_unmap(turn_shared, TURN_BYTES);
		shared_close(turn.memory);
	}
}

#endif
