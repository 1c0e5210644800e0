/* context_switch_threads -- hand a token on through pipes in a ring of threads.
 *
 * Measures     the same as context_switch, but with threads of one process, so that a switch keeps
 *              the address space. In "overhead", one thread alone does the same writing, reading
 *              and summing, through one pipe, over the threads' areas in turn; the analysis
 *              subtracts it.
 * Leaves out   creating the threads and the first touch of their areas (in setup).
 * Beware       it is only the switch if all threads share one processor: place=1. With place=2
 *              every second thread has another processor, and each hand-over (except one, if their
 *              number is odd) wakes a processor that was waiting. With place=0 the scheduler
 *              decides again in each trial. Each batch makes two hand-overs more than it counts, to
 *              and from the first thread, which sleeps meanwhile. In a process with several
 *              threads, the kernel checks at each write and read who else may use an open file. It
 *              does so in both phases, because the threads wait while the overhead is measured.
 * After        lat_ctx of lmbench (McVoy and Staelin, 1996), which has processes.
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
	NUMBER("size", "bytes that each of them sums, in words of 8", &size, 0, SIZE_MOST),
	{ 0 },
};

const struct workload workload_context_switch_threads = {
	.name = "context_switch_threads",
	.group = "process",
	.summary = "a token handed on in a ring of threads",
	.operation = "hand-over",
	.setup = setup,
	.phases = ring_phases,
	.teardown = teardown,
	.parameters = parameters,
	.calls = ring_calls,
};
