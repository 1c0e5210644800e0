/* tcp_request -- requests and responses over TCP connections that stay (netperf's TCP_RR).
 *
 * Measures     a transaction: a request of `request` bytes to the far end and a response of
 *              `response` bytes back. With `outstanding` above one, that many requests are under
 *              way before the first response is waited for; with `flows`, that many connections do
 *              this at once. The latencies are of single transactions, which are performed after
 *              the timed ones: no clock is read within those. "demand" is all processor time of
 *              this machine for a transaction, and is divided into that of both ends' processes and
 *              the rest.
 * Leaves out   making the connections (in setup; see tcp_connect_request).
 * Beware       where the far end shares the machine (peer=loopback or namespace), "demand" contains
 *              both ends, once. Where it does not, "far" is another machine's. "demand" and "rest"
 *              contain whatever else runs on this machine. The system tells its idle time in steps
 *              of 10 ms for each processor, so batches must be long for them: batch_ns=100000000.
 *              On one processor a transaction is the scheduler's hand-off, on two a wake-up:
 *              `place` chooses. A response that is read early, because the buffers of both ends are
 *              full of those that are outstanding, is counted when its turn comes.
 * After        TCP_RR of netperf (Jones), whose service demand counts both ends twice over
 *              loopback.
 */
#include "transactions.h"

static int setup(void)
{
	return requests_open();
}

static const struct phase phases[] = {
	{ .metric = "time", .run = flows_run }, FLOWS_COSTS(NULL), FLOWS_LATENCIES, FLOWS_TCP, { 0 }
};

static const struct parameter parameters[] = { TRANSACTION_PARAMETERS(OUTSTANDING_MOST),
	                                       PEER_TCP_PARAMETERS,
	                                       { 0 } };

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_tcp_request = {
	.name = "tcp_request",
	.group = "network",
	.summary = "requests and responses over TCP between two ends that may be two hosts",
	.operation = "transaction",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.calls = calls,
};
