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
#include "round_trip.h"

static int setup(void)
{
	int outcome = pair_by_pipes();

	return outcome ? outcome : round_trip_start();
}

const struct workload workload_pipe_latency = {
	.name      = "pipe_latency",
	.group     = "ipc",
	.summary   = "one byte to another process and back through two pipes",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = pair_end,
	.calls     = calls,
};
