/* tcp_both -- streams over TCP in both directions at once.
 *
 * Measures     what of a full duplex there is: each flow has two connections, one of which sends
 *              and the other receives, with a thread for each at either end. An operation is a
 *              write of `size` bytes each way, so the bandwidth is that of both directions
 *              together. "demand" is as in tcp_send.
 * Leaves out   making the connections (in setup). The disk.
 * Beware       a batch ends with the slower direction: near its end the faster one may be alone. So
 *              batches must be long: batch_ns=100000000.
 * After        iperf3's --bidir.
 */
#include "streams.h"

static uint64_t both_sizes;

static int perform(struct flow *flow, uint64_t operations)
{
	return flow->lane ? stream_receive(flow, operations) : stream_send(flow, operations);
}

static int setup(void)
{
	static const struct flows flows = { .lanes = 2,
		                            .roles = { ROLE_SEND, ROLE_RECEIVE },
		                            .perform = perform };

	both_sizes = 2 * size;
	return stream_open_of(&flows, &both_sizes);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, SIZE_MOST), { 0 } };
static const struct call      calls[] = { { "write", 2 }, { 0 } };

const struct workload workload_tcp_both = {
	.name = "tcp_both",
	.group = "network",
	.summary = "streams over TCP in both directions at once",
	.operation = "pair of writes",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.bytes = &both_sizes,
	.calls = calls,
};
