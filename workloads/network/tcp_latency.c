/* tcp_latency -- send one byte to another process and back through a TCP connection.
 *
 * Measures     the way of a byte through the TCP and IP layers and the loopback interface, there
 *              and back, with two writes and two reads, and the two wake-ups and switches of a
 *              hand-off.
 * Leaves out   making the connection (in setup; see tcp_connect). Bandwidth: there is only one
 *              byte.
 * Beware       both ends send at once (TCP_NODELAY). No packet leaves the machine, so there is no
 *              driver and no device in it. On one processor it measures the scheduler's hand-off,
 *              on two a wake-up from one to the other. Each byte that comes back must be the one
 *              that was sent.
 * After        lat_tcp of lmbench (McVoy and Staelin, 1996).
 */
#include "echo.h"

static int round_trip(void)
{
	static unsigned char sent;
	unsigned char        back;
	ssize_t              got;

	sent++;
	if (socket_write(s.ends[0], &sent, 1) != 1)
		return fail("write");
	got = socket_read(s.ends[0], &back, 1);
	if (got < 0)
		return fail("read");
	if (got == 0)
		return fail_check("the other process ended the connection");
	if (back != sent)
		return fail_check("byte %u came back in place of byte %u", back, sent);
	return 0;
}

static int setup(void)
{
	int outcome = loopback_stream(s.ends);

	if (!outcome)
		outcome = echo_start();
	return outcome ? outcome : round_trip(); /* when it is over, the other process is there */
}

const struct workload workload_tcp_latency = {
	.name = "tcp_latency",
	.group = "network",
	.summary = "one byte sent to another process and back through TCP",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = echo_end,
	.calls = calls,
};
