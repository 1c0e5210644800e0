/* unix_stream_bandwidth -- send blocks from one process to another through a UNIX-domain stream.
 *
 * Measures     the bytes per second from the writer's memory to the reader's through a connected
 *              pair of stream sockets: allocating and freeing the kernel's buffers, copying into
 *              and out of them, and the switches between writer and reader when the buffers are
 *              full or empty. A block is one write; the reader reads until it has all of it.
 * Leaves out   creating the process, the sockets and their connection, and the first touch of both
 *              blocks (in setup). Any use of the bytes: only the number at both ends of each block
 *              is written and checked.
 * Beware       the system chooses the size of the socket's buffer (on Linux net.core.wmem_default),
 *              which decides how often the two must wait for each other. With place=1 one processor
 *              makes both copies. With place=2 two processors make them at the same time, and the
 *              bytes go from one processor's cache to the other's. With place=0 the scheduler
 *              decides again in each trial. Each batch begins and ends with an empty stream.
 * After        bw_unix of lmbench (McVoy and Staelin, 1996).
 */
#include "blocks.h"

static int setup(void)
{
	int outcome = pair_by_sockets(SOCK_STREAM);

	return outcome ? outcome : blocks_start();
}

const struct workload workload_unix_stream_bandwidth = {
	.name = "unix_stream_bandwidth",
	.group = "ipc",
	.summary = "blocks sent from one process to another through a UNIX-domain stream",
	.operation = "block",
	.setup = setup,
	.run = run,
	.teardown = pair_end,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
