/* unix_stream_latency -- send one byte to another process and back through a UNIX-domain stream.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with its four
 *              system calls, on a connected pair of stream sockets. Each byte goes through the
 *              socket layer and a buffer of its own.
 * Leaves out   creating the process, the sockets and their connection (in setup). Bandwidth.
 * Beware       with place=1 it measures the scheduler's switch between the processes, with place=2
 *              the wake-up of a waiting processor; with place=0 the scheduler decides again in each
 *              trial. The calls are write and read, as in a program that does not know what it
 *              writes to; send and recv cause the same work.
 * After        lat_unix of lmbench (McVoy and Staelin, 1996).
 */
#include "round_trip.h"

static int setup(void)
{
	int outcome = pair_by_sockets(SOCK_STREAM);

	return outcome ? outcome : round_trip_start();
}

const struct workload workload_unix_stream_latency = {
	.name = "unix_stream_latency",
	.group = "ipc",
	.summary = "one byte sent to another process and back through a UNIX-domain stream",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = pair_end,
	.calls = calls,
};
