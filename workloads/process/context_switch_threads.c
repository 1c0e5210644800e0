/* context_switch_threads -- threads in a ring hand a token on through pipes.
 *
 * Measures     as context_switch, but the members are threads of one process, so that a switch
 *              keeps the address space. "overhead" is the same writing, reading and summing by one
 *              thread alone, through one pipe, over the members' areas in turn; the analysis
 *              subtracts it.
 * Leaves out   making the threads and the first touch of their areas, which is in setup.
 * Beware       it is the switch only where all share one processor: with place=1. With place=2
 *              every second member has another processor, and each hand-over (but one in the ring,
 *              if the members are odd in number) wakes a processor that was waiting. With place=0
 *              the scheduler decides, anew in each trial. Each batch has two hand-overs more than
 *              it counts, to and from the first thread, which sleeps meanwhile. Once a process has
 *              several threads, the kernel looks at who else may use an open file at each write and
 *              read: in both phases alike, since the threads wait while the overhead is measured.
 * After        lat_ctx of lmbench (McVoy and Staelin, 1996), there with processes.
 */
#include <errno.h>
#include <pthread.h>

#include "../api/workload.h"
#include "ring.h"

static struct {
	pthread_t threads[MEMBERS_MOST];
	uint64_t  numbers[MEMBERS_MOST];
	uint64_t  started;
} s;

/* A member. The odd ones move to the second processor, if there is one for partners. */
static void *serve(void *argument)
{
	uint64_t  number = *(uint64_t *)argument;
	uint64_t *area = ring.areas[number] = area_make();
	int       error = area && !(number % 2 ? partner_place() : home_place()) ? 0 : errno;

	if (!member_ready(error) && !error)
		member_serve(number, area);
	return NULL;
}

static int setup(void)
{
	int outcome = ring_pipes_make();

	if (outcome)
		return outcome;
	for (; s.started < members; s.started++) {
		s.numbers[s.started] = s.started;
		errno = pthread_create(&s.threads[s.started], NULL, serve, &s.numbers[s.started]);
		if (errno)
			return fail("pthread_create");
	}
	if ((outcome = ring_await()))
		return outcome;
	ring.area_sum = sum_of(ring.areas[0]);
	return 0;
}

static void teardown(void)
{
	for (uint64_t i = 0; i < s.started; i++)
		member_stop(i);
	for (uint64_t i = 0; i < s.started; i++)
		pthread_join(s.threads[i], NULL);
	ring_pipes_close();
}

static const struct parameter parameters[] = {
	NUMBER("processes", "threads in the ring", &members, MEMBERS_LEAST, MEMBERS_MOST),
	NUMBER("size", "bytes that each of them sums, in whole words of 8", &size, 0, SIZE_MOST),
	{ 0 },
};

const struct workload workload_context_switch_threads = {
	.name       = "context_switch_threads",
	.group      = "process",
	.summary    = "a token handed on in a ring of threads",
	.operation  = "hand-over",
	.setup      = setup,
	.phases     = ring_phases,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = ring_calls,
};
