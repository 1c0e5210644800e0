/* crew.h -- what parallel_sort and parallel_product share: processes that work with this one, each
 * at the end of two pipes, as UNIX programs before threads were made parallel.
 *
 * Each member reads its part of the work from its pipe until it has all, does it, and writes what
 * it has found. This process writes all parts before it reads any answer, so nobody waits for
 * somebody who waits.
 */
#ifndef STEELYARD_CREW_H
#define STEELYARD_CREW_H

#include <errno.h>
#include <unistd.h>

#include "../api/workload.h"

enum { CREW_MOST = 64 };

static uint64_t processes = 2;

static struct {
	int   to[CREW_MOST], from[CREW_MOST]; /* our ends of the pipes; -1: none */
	pid_t members[CREW_MOST];
	int   number;  /* of the member that is being started, which its process keeps */
	int   mine[2]; /* that member's ends: to read from, to write to */
} crew = { .mine = { -1, -1 } };

/* The workload's own: a member's work, until its pipe ends. */
static void serve(void);

/* The first of `whole` elements that are member `number`'s; the next one's first is where its own
 * end. */
static inline size_t crew_first(uint64_t number, size_t whole)
{
	return (size_t)((uint64_t)whole * number / processes);
}

static inline int crew_close(int *one)
{
	int failed = *one >= 0 && close(*one);

	*one = -1;
	return failed;
}

/* In the member's process: nobody else's ends stay open, or others would not see theirs. */
static void crew_serve(void)
{
	for (uint64_t i = 0; i < processes; i++) {
		crew_close(&crew.to[i]);
		crew_close(&crew.from[i]);
	}
	serve();
}

static inline int crew_add(uint64_t number)
{
	int there[2], back[2];

	if (pipe(there))
		return fail("pipe");
	crew.to[number] = there[1];
	crew.mine[0] = there[0];
	if (pipe(back))
		return fail("pipe");
	crew.from[number] = back[0];
	crew.mine[1] = back[1];
	crew.number = (int)number;
	crew.members[number] = partner_start(crew_serve, NULL, 0);
	if (crew.members[number] < 0)
		return fail("fork");
	if (crew_close(&crew.mine[0]) || crew_close(&crew.mine[1]))
		return fail("close");
	return 0;
}

static inline int crew_start(void)
{
	int outcome = 0;

	for (int i = 0; i < CREW_MOST; i++)
		crew.to[i] = crew.from[i] = crew.members[i] = -1;
	crew.mine[0] = crew.mine[1] = -1;
	for (uint64_t i = 0; i < processes && !outcome; i++)
		outcome = crew_add(i);
	return outcome;
}

static inline int crew_tell(uint64_t number, const void *part, size_t bytes)
{
	return write_whole(crew.to[number], part, bytes) ? fail("write") : 0;
}

/* Reads a member's whole answer. */
static inline int crew_hear(uint64_t number, void *answer, size_t bytes)
{
	if (!read_whole(crew.from[number], answer, bytes))
		return 0;
	return errno ? fail("read") : fail_check("process %d has ended", (int)number + 1);
}

static inline void crew_end(void)
{
	crew_close(&crew.mine[0]);
	crew_close(&crew.mine[1]);
	for (uint64_t i = 0; i < processes && crew.members[i]; i++) {
		crew_close(&crew.to[i]);
		crew_close(&crew.from[i]);
	}
	for (uint64_t i = 0; i < processes && crew.members[i]; i++)
		partner_end(&crew.members[i]);
}

#define CREW_PARAMETERS NUMBER("processes", "that share the work", &processes, 1, CREW_MOST)

#endif
