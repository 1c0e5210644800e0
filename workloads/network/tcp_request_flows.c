/* tcp_request_flows -- requests and responses over TCP, over the number of flows at once.
 *
 * Measures     as tcp_request, with 1, 2, 4 and more flows, each with a thread at either end: the
 *              time of a transaction is all flows' time by their transactions, so that its inverse
 *              is their rate together. Where it stops to fall is what the two ends can do at most.
 * Leaves out   what it costs (tcp_request with a few numbers of flows says that). Connecting: for
 *              each number a new far end and new flows are made, untimed.
 * Beware       as of tcp_request. With more flows than processors the scheduler's turns are
 *              measured as well.
 * After        the connection counts of neper and wrk.
 */
#include "transactions.h"

static uint64_t flows;

static int arrange(void)
{
	if (flows > FLOWS_MOST)
		return fail_check("to is %llu, and must be at most %d", (unsigned long long)flows,
		                  FLOWS_MOST);
	flows_close();
	peer_order.flows = flows;
	return requests_open();
}

static struct sweep sweep = {
	.name = "flows",
	.unit = "flows",
	.value = &flows,
	.from = 1,
	.to = 64,
	.steps = 1,
	.grain = 1,
	.arrange = arrange,
};

static const struct parameter parameters[] = {
	TRANSACTION_SHAPE(OUTSTANDING_MOST), PEER_ENDS, PEER_TCP, { 0 }
};
static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_tcp_request_flows = {
	.name = "tcp_request_flows",
	.group = "network",
	.summary = "requests and responses over TCP, over the number of flows",
	.operation = "transaction",
	.run = flows_run,
	.teardown = flows_close,
	.parameters = parameters,
	.sweep = &sweep,
	.calls = calls,
};
