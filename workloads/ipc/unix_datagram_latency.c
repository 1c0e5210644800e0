/* unix_datagram_latency -- send one byte to another process and back in UNIX-domain datagrams.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with its four
 *              system calls, on a connected pair of datagram sockets.
 * Leaves out   creating the process, the sockets and their connection (in setup). An address with
 *              each datagram: the sockets are connected and have no names. Bandwidth.
 * Beware       with place=1 it measures the scheduler's switch between the processes, with place=2
 *              the wake-up of a waiting processor; with place=0 the scheduler decides again in each
 *              trial. The calls are write and read, as in a program that does not know what it
 *              writes to; send and recv cause the same work.
 * After        lat_unix of lmbench (McVoy and Staelin, 1996), which uses a stream.
 */
#include "round_trip.h"

static int setup(void)
{
	int outcome = pair_by_sockets(SOCK_DGRAM);

	return outcome ? outcome : round_trip_start();
}

static void teardown(void)
{
	/* A reader of datagrams does not see that the writer has closed: an empty one says it. */
	if (pair.partner > 0)
		send(pair.ours[OUT], "", 0, MSG_NOSIGNAL);
	pair_end();
}

const struct workload workload_unix_datagram_latency = {
	.name = "unix_datagram_latency",
	.group = "ipc",
	.summary = "one byte sent to another process and back in UNIX-domain datagrams",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
