/* udp_latency -- send a datagram of one byte to another process and back through UDP.
 *
 * Measures     the way of a datagram through the UDP and IP layers and the loopback interface,
 *              there and back, with two writes and two reads, and the two wake-ups and switches of
 *              a hand-off.
 * Leaves out   addressing: both sockets are connected, so no call names an address.
 * Beware       UDP may lose a datagram, and nothing repeats it: if no answer comes within five
 *              seconds the trial fails. The kernel sets and clears that timer in every operation,
 *              which is about one per cent of the time. On one processor it measures the
 *              scheduler's hand-off, on two a wake-up from one to the other. Each byte that comes
 *              back must be the one that was sent. No packet leaves the machine.
 * After        lat_udp of lmbench (McVoy and Staelin, 1996).
 */
#include <errno.h>

#include "echo.h"

enum { PATIENCE_S = 5 };

static int receive(unsigned char expected)
{
	unsigned char back = 0;
	ssize_t       got;

	/* A socket with a timer is interrupted when its process is stopped and goes on. */
	do
		got = socket_read(s.ends[0], &back, 1);
	while (got < 0 && socket_trouble(errno) == SOCKET_INTERRUPTED);
	if (got < 0 && socket_trouble(errno) == SOCKET_TOO_LATE)
		return fail_check("no answer came within %d s", PATIENCE_S);
	if (got < 0)
		return fail("read");
	if (got != 1 || back != expected)
		return fail_check("%zd bytes came back, %u in place of %u", got, back, expected);
	return 0;
}

static int round_trip(void)
{
	static unsigned char sent;

	sent++;
	if (socket_write(s.ends[0], &sent, 1) != 1)
		return fail("write");
	return receive(sent);
}

static int setup(void)
{
	int outcome = loopback_datagrams(s.ends);

	if (outcome || (outcome = echo_start()))
		return outcome;
	if (socket_wait_at_most(s.ends[0], PATIENCE_S))
		return fail("setsockopt");
	return round_trip(); /* when it is over, the other process is there */
}

static void teardown(void)
{
	if (s.ends[0] >= 0)
		(void)socket_send(s.ends[0], "", 0); /* may be lost: partner_end waits no longer
		                                        than 1 s */
	echo_end();
}

const struct workload workload_udp_latency = {
	.name = "udp_latency",
	.group = "network",
	.summary = "a datagram of one byte sent to another process and back through UDP",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
