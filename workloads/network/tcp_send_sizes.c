/* tcp_send_sizes -- a stream sent over TCP to the far end, over the size of a write.
 *
 * Measures     as tcp_send, at every size of a doubling over one connection: the plateaus, and the
 *              knee from which larger writes gain nothing.
 * Leaves out   what it costs (tcp_send with a few sizes says that).
 * Beware       as of tcp_send. What a connection has learned of its path at one size it keeps at
 *              the next; their order is random.
 * After        the figures over message size of netperf's users.
 */
#include "streams.h"

static uint64_t written;

static int arrange(void)
{
	peer_order.request = written;
	return 0;
}

static struct sweep sweep = {
	.name = "write",
	.unit = "bytes",
	.value = &written,
	.from = 64,
	.to = 1048576,
	.steps = 1,
	.grain = 1,
	.arrange = arrange,
};

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND }, .perform = stream_send };

	if (!sweep.to || sweep.to > SIZE_MOST)
		return fail_check("to is %llu, and must be at most %d",
		                  (unsigned long long)sweep.to, SIZE_MOST);
	size = sweep.to;
	return stream_open(&flows);
}

static const struct parameter parameters[] = { STREAM_READ, PEER_TCP_PARAMETERS, { 0 } };
static const struct call      calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_tcp_send_sizes = {
	.name = "tcp_send_sizes",
	.group = "network",
	.summary = "a stream sent over TCP, over the size of a write",
	.operation = "write",
	.setup = setup,
	.run = flows_run,
	.teardown = flows_close,
	.parameters = parameters,
	.sweep = &sweep,
	.bytes = &written,
	.calls = calls,
};
