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
#include <errno.h>
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
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s.ends))
		return errno == EAFNOSUPPORT ? unsupported("there are no UNIX-domain sockets")
		                             : fail("socketpair");
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
	for (int end = 0; end < 2; end++)
		if (s.ends[end] >= 0)
			close(s.ends[end]);
	partner_end(&s.partner);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_unix_stream_latency = {
	.name      = "unix_stream_latency",
	.group     = "ipc",
	.summary   = "one byte to another process and back through a UNIX-domain stream",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
