/* unix_stream_latency -- one byte to another process and back through a UNIX-domain stream.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with the four
 *              system calls that make it, on a connected pair of stream sockets: each byte goes
 *              through the socket layer and a buffer of its own.
 * Leaves out   making the process, the sockets and their connection, which are in setup; bandwidth.
 * Beware       with place=1 it measures the scheduler's switch from one process to the other, with
 *              place=2 the wake-up of a waiting processor; with place=0 the scheduler decides, anew
 *              in each trial. The calls are write and read, as a program makes that does not know
 *              what it writes to; send and recv come to the same work.
 * After        lat_unix of lmbench (McVoy and Staelin, 1996).
 */
#include "round_trip.h"

static int setup(void)
{
	int outcome = pair_by_sockets(SOCK_STREAM);

	return outcome ? outcome : round_trip_start();
}

const struct workload workload_unix_stream_latency = {
	.name      = "unix_stream_latency",
	.group     = "ipc",
	.summary   = "one byte to another process and back through a UNIX-domain stream",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = pair_end,
	.calls     = calls,
};
