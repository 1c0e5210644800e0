/* udp_request -- requests and responses over UDP (netperf's UDP_RR).
 *
 * Measures     as tcp_request, by datagrams. A response that has not come after `timeout_ms` is
 *              taken for lost, and its request is sent again: that wait is part of the time.
 * Leaves out   whatever a protocol above UDP would do about loss.
 * Beware       one lost datagram costs a whole timeout, so the mean says little where packets are
 *              lost: look at the latencies. Each response must have the number of its request,
 *              which is one byte: an answer that comes after its timeout is thrown away.
 * After        UDP_RR of netperf (Jones), which stops for ever at the first datagram that is lost.
 */
#include <errno.h>
#include <sys/time.h>
#include <unistd.h>

#include "transactions.h"

static uint64_t timeout_ms = 200;

/* Of each flow: the number of the oldest request without its response, and of the next one. */
static unsigned char oldest[FLOWS_MOST], next[FLOWS_MOST];

static int send_number(struct flow *flow, unsigned char number)
{
	flow->bytes[0] = number;
	flow->sent++;
	return write(flow->socket, flow->bytes, request) == (ssize_t)request ? 0
	                                                                     : peer_lost("write");
}

static int send_next(struct flow *flow)
{
	return send_number(flow, next[flow->number]++);
}

/* All that are under way are sent again, because each may be the one that was lost. */
static int send_again(struct flow *flow)
{
	int outcome = 0;

	if (++flow->lost > 5000 / timeout_ms + 5 && !flow->answered)
		return fail_check(
			"no datagram came back from the far end: is there a firewall between?");
	for (unsigned char one = oldest[flow->number]; one != next[flow->number] && !outcome; one++)
		outcome = send_number(flow, one);
	return outcome;
}

static int receive_oldest(struct flow *flow)
{
	for (;;) {
		ssize_t got = read(flow->socket, flow->bytes, response);
		int     outcome;

		if (got > 0 && flow->bytes[0] == oldest[flow->number]) {
			oldest[flow->number]++;
			flow->answered = 1;
			return got == (ssize_t)response
			               ? 0
			               : fail_check("a response had %zd bytes", got);
		}
		if (got < 0 && errno == EAGAIN && (outcome = send_again(flow)))
			return outcome;
		if (!got)
			errno = 0; /* another flow has failed, and has ended all */
		if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
			return peer_lost("read");
	}
}

static int begin(struct flow *flow)
{
	struct timeval patience = { .tv_sec = (time_t)(timeout_ms / 1000),
		                    .tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000) };

	return setsockopt(flow->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))
	               ? fail("setsockopt")
	               : 0;
}

static int setup(void)
{
	peer_order.service = SERVE_DATAGRAMS;
	return transactions_open(send_next, receive_oldest, begin);
}

static const struct phase phases[] = { { .metric = "time", .run = flows_run },
	                               FLOWS_COSTS(NULL),
	                               FLOWS_LATENCIES,
	                               FLOWS_LOSS,
	                               { 0 } };

static const struct parameter parameters[] = {
	TRANSACTION_PARAMETERS(128),
	NUMBER("timeout_ms", "time after which a datagram counts as lost", &timeout_ms, 1, 60000),
	PEER_PARAMETERS,
	{ 0 },
};

static const struct call calls[] = {
	{ "write", 1 }, { "read", 1 }, { "recvfrom", 1 }, { "sendto", 1 }, { 0 }
};

const struct workload workload_udp_request = {
	.name = "udp_request",
	.group = "network",
	.summary = "requests and responses over UDP between two ends that may be two hosts",
	.operation = "transaction",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.calls = calls,
};
