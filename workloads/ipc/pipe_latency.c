/* pipe_latency -- send one byte to another process and back through two pipes.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with its four
 *              system calls on pipes.
 * Leaves out   creating the process and its first turn (in setup). Bandwidth: there is only one
 *              byte.
 * Beware       with place=1 it measures the scheduler's switch between the processes, with place=2
 *              the wake-up of a waiting processor, which costs more where a host must wake the
 *              processor of a virtual machine. With place=0 the scheduler decides again in each
 *              trial. On two processors, a read may find its byte already there if the other
 *              process was quick, and then does not sleep. What the C library has registered with
 *              the kernel is part of the time: with place=1, the restartable sequences of glibc
 *              (since 2.35), which the kernel looks at after each switch, were 6 % of it.
 * After        lat_pipe of lmbench (McVoy and Staelin, 1996).
 */
#include "round_trip.h"

static int setup(void)
{
	int outcome = pair_by_pipes();

	return outcome ? outcome : round_trip_start();
}

const struct workload workload_pipe_latency = {
	.name = "pipe_latency",
	.group = "ipc",
	.summary = "one byte sent to another process and back through two pipes",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = pair_end,
	.calls = calls,
};
