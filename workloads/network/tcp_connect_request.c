/* tcp_connect_request -- a connection, a request, a response, and its end, over TCP (netperf's
 * TCP_CRR).
 *
 * Measures     what a server sees that gets a connection for each request: the handshake of three
 *              packets, a request of `request` bytes, a response of `response` bytes, and the end.
 *              "demand" and its parts are as in tcp_request.
 * Leaves out   many connections at the server at once: it accepts one after another.
 * Beware       with goodbye=0 this end resets the connection when it has the response, so that
 *              nothing of it stays in the kernel (tcp_connect says why). With goodbye=1 the far end
 *              says goodbye first, as netperf's does: then it keeps a record of each for a minute,
 *              and operations become slower as these pile up; in a namespace they are gone with the
 *              trial.
 * After        TCP_CRR of netperf (Jones).
 */
#include <errno.h>
#include <unistd.h>

#include "../api/system.h"
#include "flows.h"

static uint64_t request = 1, response = 1;

static int converse(int one, unsigned char *bytes)
{
	if (!peer_order.goodbye && socket_end_by_reset(one))
		return fail("setsockopt");
	if (write_whole(one, bytes, request))
		return peer_lost("write");
	if (read_whole(one, bytes, response))
		return peer_lost("read");
	if (peer_order.goodbye && read(one, bytes, 1))
		return fail_check("the far end did not end the connection");
	return 0;
}

static int connect_and_ask(struct flow *flow)
{
	int one = peer_connect_only(), outcome;

	if (one < 0)
		return peer_lost("connect");
	outcome = converse(one, flow->bytes);
	if (close(one) && !outcome)
		outcome = fail("close");
	return outcome;
}

static int perform(struct flow *flow, uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = connect_and_ask(flow);
	return outcome;
}

static int perform_each(struct flow *flow, uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		uint64_t began = clock_ns();

		outcome = connect_and_ask(flow);
		histogram_add(flow->latencies, clock_ns() - began);
	}
	return outcome;
}

static int setup(void)
{
	static const struct flows flows = { .perform = perform,
		                            .perform_each = perform_each,
		                            .is_connecting = 1 };

	peer_order.service = SERVE_CONNECTIONS;
	peer_order.request = request;
	peer_order.response = response;
	return flows_open(&flows);
}

static const struct phase phases[] = {
	{ .metric = "time", .run = flows_run }, FLOWS_COSTS(NULL), FLOWS_LATENCIES, { 0 }
};

static const struct parameter parameters[] = {
	NUMBER("request", "bytes in a request", &request, 1, 65507),
	NUMBER("response", "bytes in a response", &response, 1, 65507),
	NUMBER("goodbye", "1: the far end says goodbye first; 0: this end resets",
	       &peer_order.goodbye, 0, 1),
	FLOWS_LATENCY_PARAMETER,
	PEER_PARAMETERS,
	{ 0 },
};

static const struct call calls[] = { { "socket", 1 }, { "connect", 1 }, { "accept", 1 },
	                             { "write", 2 },  { "close", 2 },   { 0 } };

const struct workload workload_tcp_connect_request = {
	.name = "tcp_connect_request",
	.group = "network",
	.summary = "a TCP connection, a request and a response over it, and its end",
	.operation = "transaction",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.calls = calls,
};
