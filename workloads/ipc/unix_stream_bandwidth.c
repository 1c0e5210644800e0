/* unix_stream_bandwidth -- blocks from one process to another through a UNIX-domain stream.
 *
 * Measures     the bytes of a second from the writer's memory to the reader's through a connected
 *              pair of stream sockets: the kernel's buffers made and freed, the copies into and out
 *              of them, and the switches between writer and reader when the room is full or empty.
 *              A block is one write; the reader reads until it has come.
 * Leaves out   making the process, the sockets and their connection, and the first touch of both
 *              blocks, which are in setup; any use of the bytes: only each block's number, at both
 *              its ends, is written and checked.
 * Beware       the socket's room is the system's own (on Linux net.core.wmem_default) and decides
 *              how often the two must wait for each other. With place=1 one processor does both
 *              copies; with place=2 they are done at the same time, and the bytes go from one
 *              processor's cache to the other's; with place=0 the scheduler decides, anew in each
 *              trial. Each batch begins and ends with an empty stream.
 * After        bw_unix of lmbench (McVoy and Staelin, 1996).
 */
#include "blocks.h"

static int setup(void)
{
	int outcome = pair_by_sockets(SOCK_STREAM);

	return outcome ? outcome : blocks_start();
}

const struct workload workload_unix_stream_bandwidth = {
	.name       = "unix_stream_bandwidth",
	.group      = "ipc",
	.summary    = "blocks from one process to another through a UNIX-domain stream",
	.operation  = "block",
	.setup      = setup,
	.run        = run,
	.teardown   = pair_end,
	.parameters = parameters,
	.bytes      = &size,
	.calls      = calls,
};
