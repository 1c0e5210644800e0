/* tcp_latency -- one byte to another process and back through a TCP connection.
 *
 * Measures     the way of a byte through the TCP and IP layers and the loopback interface, there
 *              and back, by two writes and two reads, and the two wake-ups and switches of a
 *              hand-off.
 * Leaves out   making the connection (in setup; see tcp_connect) and bandwidth (one byte only).
 * Beware       both ends send at once (TCP_NODELAY); no packet leaves the machine, so there is no
 *              driver and no device in it. On one processor it measures the scheduler's hand-off,
 *              on two a wake-up from one to the other. Each byte that comes back is checked to be
 *              the one that was sent.
 * After        lat_tcp of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "loopback.h"

static struct {
	socket_t ends[2];
	pid_t    echo;
} s = { .ends = { -1, -1 }, .echo = -1 };

/* The other process: sends back what comes, until the connection ends. */
static void serve(void)
{
	char byte;

	if (sockets_inherit(&s.ends[1], &s.ends[0]))
		return;
	while (socket_read(s.ends[1], &byte, 1) == 1)
		if (socket_write(s.ends[1], &byte, 1) != 1)
			return;
}

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

	if (outcome)
		return outcome;
	s.echo = partner_start(serve, &s, sizeof(s));
	if (s.echo < 0)
		return fail("making the partner");
	loopback_close(&s.ends[1]);
	return round_trip(); /* when it is over, the other process is there */
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = round_trip();
	return outcome;
}

static void teardown(void)
{
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.echo);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_tcp_latency = {
	.name      = "tcp_latency",
	.group     = "network",
	.summary   = "one byte to another process and back through TCP",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
