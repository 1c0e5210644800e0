/* pipe_bandwidth -- blocks from one process to another through a pipe.
 *
 * Measures     the bytes of a second from the writer's memory to the reader's: the copies into and
 *              out of the kernel, and the switches between writer and reader when the pipe is full
 *              or empty. A block is one write; the reader reads until it has come.
 * Leaves out   making the process and the first touch of both blocks, which are in setup; any use
 *              of the bytes: only each block's number, at both its ends, is written and checked.
 * Beware       the pipe's room (64 KiB on Linux, another elsewhere) decides how often the two must
 *              wait for each other. With place=1 one processor does both copies; with place=2 they
 *              are done at the same time, and the bytes go from one processor's cache to the
 *              other's; with place=0 the scheduler decides, anew in each trial. Blocks that fit the
 *              caches stay there: it is no measure of memory. Each batch begins and ends with an
 *              empty pipe. On Windows a block larger than the pipe's 64 KiB is several writes.
 * After        bw_pipe of lmbench (McVoy and Staelin, 1996).
 */
#include "blocks.h"

static int setup(void)
{
	int outcome = pair_by_pipes();

	return outcome ? outcome : blocks_start();
}

const struct workload workload_pipe_bandwidth = {
	.name       = "pipe_bandwidth",
	.group      = "ipc",
	.summary    = "blocks from one process to another through a pipe",
	.operation  = "block",
	.setup      = setup,
	.run        = run,
	.teardown   = pair_end,
	.parameters = parameters,
	.bytes      = &size,
	.calls      = calls,
};
