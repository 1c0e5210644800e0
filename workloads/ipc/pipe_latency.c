/* pipe_latency -- one byte to another process and back through two pipes.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with the four
 *              system calls on pipes that make it.
 * Leaves out   making the process and its first turn, which are in setup; bandwidth (one byte
 *              only).
 * Beware       with place=1 it measures the scheduler's switch from one process to the other, with
 *              place=2 the wake-up of a waiting processor, which costs more where a virtual
 *              machine's processor must be woken by its host; with place=0 the scheduler decides,
 *              anew in each trial. A read that finds its byte there does not sleep at all: so it
 *              can be with two processors where the other process was quick. What libc has registered
 *              with the kernel belongs to the figure: with place=1, glibc's restartable sequences (from
 *              2.35 on), which the kernel looks at after each switch, were 6 % of it.
 * After        lat_pipe of lmbench (McVoy and Staelin, 1996).
 */
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"
#include "round_trip.h"

static struct {
	int   there[2], back[2];
	pid_t partner;
} s = { .there = { -1, -1 }, .back = { -1, -1 }, .partner = -1 };

static void serve(void)
{
	close(s.there[1]);
	close(s.back[0]);
	answer(s.there[0], s.back[1]);
}

static int setup(void)
{
	if (pipe_make(s.there) || pipe_make(s.back))
		return fail("pipe");
	s.partner = partner_start(serve, &s, sizeof(s));
	if (s.partner < 0)
		return fail("making the partner");
	close(s.there[0]);
	close(s.back[1]);
	s.there[0] = s.back[1] = -1;
	return round_trips(1, s.there[1], s.back[0]); /* untimed: now both are there */
}

static int run(uint64_t operations)
{
	return round_trips(operations, s.there[1], s.back[0]);
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++) {
		if (s.there[end] >= 0)
			close(s.there[end]);
		if (s.back[end] >= 0)
			close(s.back[end]);
	}
	partner_end(&s.partner);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_pipe_latency = {
	.name      = "pipe_latency",
	.group     = "ipc",
	.summary   = "one byte to another process and back through two pipes",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
