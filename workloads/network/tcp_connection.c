/* tcp_connection -- a TCP connection made and ended, between two ends that may be two hosts
 * (netperf's TCP_CC).
 *
 * Measures     what tcp_connect measures over loopback: socket, connect, the handshake, accept at
 *              the far end, its reset, and both closes; to any far end, with what it costs there
 *              and here.
 * Leaves out   data: none is sent.
 * Beware       the far end ends the connection by a reset, for which this end waits (tcp_connect
 *              says why).
 * After        TCP_CC of netperf (Jones).
 */
#include <errno.h>
#include <unistd.h>

#include "flows.h"

static int make_and_end(void)
{
	int     one = peer_connect_only(), error;
	ssize_t got;
	char    byte;

	/* The reset may come before connect has returned. */
	if (one < 0)
		return errno == ECONNRESET ? 0 : peer_lost("connect");
	got = read(one, &byte, 1);
	error = errno;
	if (close(one))
		return fail("close");
	if (got < 0 && error == ECONNRESET)
		return 0;
	errno = error;
	return got < 0 ? peer_lost("read") : fail_check("the connection did not end by a reset");
}

static int perform(struct flow *flow, uint64_t operations)
{
	int outcome = 0;

	(void)flow;
	while (operations-- && !outcome)
		outcome = make_and_end();
	return outcome;
}

static int setup(void)
{
	static const struct flows flows = { .perform = perform, .is_connecting = 1 };

	peer_order.service = SERVE_CONNECTIONS;
	peer_order.request = peer_order.response = 0;
	return flows_open(&flows);
}

static const struct phase     phases[] = { { .metric = "time", .run = flows_run },
	                                   FLOWS_COSTS(NULL),
	                                   { 0 } };
static const struct parameter parameters[] = { PEER_PARAMETERS, { 0 } };
static const struct call      calls[] = {
	{ "socket", 1 }, { "connect", 1 }, { "accept", 1 }, { "close", 2 }, { 0 }
};

const struct workload workload_tcp_connection = {
	.name = "tcp_connection",
	.group = "network",
	.summary = "a TCP connection to a far end, made and ended",
	.operation = "connection",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.calls = calls,
};
