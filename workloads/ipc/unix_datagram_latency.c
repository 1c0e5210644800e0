/* unix_datagram_latency -- one byte to another process and back in UNIX-domain datagrams.
 *
 * Measures     the two wake-ups and switches of a blocking hand-off there and back, with the four
 *              system calls that make it, on a connected pair of datagram sockets.
 * Leaves out   making the process, the sockets and their connection, which are in setup; an address
 *              with each datagram (the sockets are connected and have no names); bandwidth.
 * Beware       with place=1 it measures the scheduler's switch from one process to the other, with
 *              place=2 the wake-up of a waiting processor; with place=0 the scheduler decides, anew
 *              in each trial. The calls are write and read, as a program makes that does not know
 *              what it writes to; send and recv come to the same work.
 * After        lat_unix of lmbench (McVoy and Staelin, 1996), there with a stream.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../api/workload.h"
#include "round_trip.h"

static struct {
	int   ends[2]; /* ours, the partner's */
	pid_t partner;
} s = { .ends = { -1, -1 }, .partner = -1 };

static void serve(void)
{
	close(s.ends[0]);
	answer(s.ends[1], s.ends[1]);
}

static int setup(void)
{
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s.ends)) {
		if (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT)
			return unsupported("there are no UNIX-domain datagrams: %s",
			                   strerror(errno));
		return fail("socketpair");
	}
	s.partner = partner_start(serve, &s, sizeof(s));
	if (s.partner < 0)
		return fail("fork");
	close(s.ends[1]);
	s.ends[1] = -1;
	return round_trips(1, s.ends[0], s.ends[0]); /* untimed: now both are there */
}

static int run(uint64_t operations)
{
	return round_trips(operations, s.ends[0], s.ends[0]);
}

static void teardown(void)
{
	/* A reader of datagrams does not see that the writer has closed: an empty one says it. */
	if (s.partner > 0)
		send(s.ends[0], "", 0, MSG_NOSIGNAL);
	for (int end = 0; end < 2; end++)
		if (s.ends[end] >= 0)
			close(s.ends[end]);
	partner_end(&s.partner);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_unix_datagram_latency = {
	.name      = "unix_datagram_latency",
	.group     = "ipc",
	.summary   = "one byte to another process and back in UNIX-domain datagrams",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
