/* tcp_receive -- a stream of writes received over TCP from the far end (netperf's TCP_MAERTS).
 *
 * Measures     how fast the far end's writes of `size` bytes arrive and are read here, `read` bytes
 *              at once at most. A batch is ordered by its number of bytes, and ends when all of
 *              them have been read. "demand" and its parts are as in tcp_send.
 * Leaves out   making the connections (in setup). The disk.
 * Beware       a batch begins with half a round trip and an empty connection: batch_ns=100000000.
 *              The bytes are not compared: that would measure memcmp.
 * After        TCP_MAERTS of netperf (Jones).
 */
#include "streams.h"

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_RECEIVE }, .perform = stream_receive };

	return stream_open(&flows);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, SIZE_MOST), { 0 } };
static const struct call      calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_tcp_receive = {
	.name = "tcp_receive",
	.group = "network",
	.summary = "a stream received over TCP between two ends that may be two hosts",
	.operation = "write",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
