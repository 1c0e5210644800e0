/* tcp_send -- a stream of writes sent over TCP to the far end (netperf's TCP_STREAM).
 *
 * Measures     how fast the bytes of writes of `size` bytes arrive: copying into the kernel, TCP
 *              and IP, the device, and the far end's reading and copying out. A batch ends when the
 *              far end says that it has read all of it. With `flows`, that many connections do this
 *              at once. "demand" is all processor time of this machine for a KB, and is divided
 *              into that of both ends' processes and the rest.
 * Leaves out   making the connections (in setup). The disk: what is sent is in memory.
 * Beware       a batch begins with an empty connection and ends with a round trip, so batches must
 *              be long against that: batch_ns=100000000. The far end reads `read` bytes at once at
 *              most; iperf3's reads as many as a write has, after a select. With nodelay=1, which
 *              is the default, small writes become small packets where the receiver keeps up. Of
 *              "demand" and "rest", see tcp_request.
 * After        TCP_STREAM of netperf (Jones).
 */
#include "streams.h"

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND }, .perform = stream_send };

	return stream_open(&flows);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, SIZE_MOST), { 0 } };
static const struct call      calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_tcp_send = {
	.name = "tcp_send",
	.group = "network",
	.summary = "a stream sent over TCP between two ends that may be two hosts",
	.operation = "write",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
