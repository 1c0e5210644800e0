/* context_switch -- hand a token on through pipes in a ring of processes.
 *
 * Measures     in "switch", for each hand-over from one process to the next: the switch, the
 *              wake-up, and what the caches lose when each process sums an area of its own. In
 *              "overhead", the same writing, reading and summing by one process alone, through one
 *              pipe, over the same number of areas in turn; the analysis subtracts it.
 * Leaves out   creating the processes and the first touch of their areas (in setup).
 * Beware       it is only the switch if all processes share one processor: place=1. With place=2
 *              every second process has another processor, and each hand-over (except one, if their
 *              number is odd) wakes a processor that was waiting. With place=0 the scheduler
 *              decides again in each trial, and the time may be a switch, a wake-up or both. A
 *              kernel may let the woken process run before the waker sleeps, and then switches
 *              twice for one hand-over. Each batch makes two hand-overs more than it counts, to and
 *              from the trial's own process, which sleeps meanwhile. The compiler may sum several
 *              words at once, in both phases alike.
 * After        lat_ctx of lmbench (McVoy and Staelin, 1996).
 */
#include <errno.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include "../api/workload.h"
#include "ring.h"

static struct {
	pid_t    pids[MEMBERS_MOST];
	uint64_t started;
} s;

/* All partners start on the second processor, if there is one for them: the even members go back to
 * the first. A system that cannot say which that is has no second for them either. */
#ifdef __linux__
static cpu_set_t first;
static int       first_known;

static void first_remember(void)
{
	first_known = !sched_getaffinity(0, sizeof(first), &first);
}

static int member_place(uint64_t number)
{
	return number % 2 || !first_known ? 0 : sched_setaffinity(0, sizeof(first), &first);
}
#else
static void first_remember(void)
{
}

static int member_place(uint64_t number)
{
	(void)number;
	return 0;
}
#endif

/* A member: it was the next to start when it was made. */
static void serve(void)
{
	uint64_t  number = s.started, next = (number + 1) % members;
	uint64_t *area;
	int       error;

	for (uint64_t i = 0; i <= members; i++) {
		if (i != number)
			close(ring.pipes[i][0]);
		if (i != next && i != members)
			close(ring.pipes[i][1]);
	}
	area = area_make();
	error = area && !member_place(number) ? 0 : errno;
	if (!member_ready(error) && !error)
		member_serve(number, area);
}

static int setup(void)
{
	int outcome = ring_pipes_make();

	if (outcome)
		return outcome;
	first_remember();
	for (; s.started < members; s.started++) {
		s.pids[s.started] = partner_start(serve, NULL, 0);
		if (s.pids[s.started] < 0)
			return fail("fork");
	}
	for (uint64_t i = 0; i < members; i++)
		if (!(ring.areas[i] = area_make()))
			return fail("mmap");
	ring.area_sum = sum_of(ring.areas[0]);
	return ring_await();
}

static void teardown(void)
{
	for (uint64_t i = 0; i < s.started; i++)
		member_stop(i);
	for (uint64_t i = 0; i < s.started; i++)
		partner_end(&s.pids[i]);
	ring_pipes_close();
}

static const struct parameter parameters[] = {
	NUMBER("processes", "processes in the ring", &members, MEMBERS_LEAST, MEMBERS_MOST),
	NUMBER("size", "bytes that each of them sums, in words of 8", &size, 0, SIZE_MOST),
	{ 0 },
};

const struct workload workload_context_switch = {
	.name = "context_switch",
	.group = "process",
	.summary = "a token handed on in a ring of processes",
	.operation = "hand-over",
	.setup = setup,
	.phases = ring_phases,
	.teardown = teardown,
	.parameters = parameters,
	.calls = ring_calls,
};
