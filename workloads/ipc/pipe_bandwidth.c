/* pipe_bandwidth -- send blocks from one process to another through a pipe.
 *
 * Measures     the bytes per second from the writer's memory to the reader's: copying into and out
 *              of the kernel, and the switches between writer and reader when the pipe is full or
 *              empty. A block is one write; the reader reads until it has all of it.
 * Leaves out   creating the process and the first touch of both blocks (in setup). Any use of the
 *              bytes: only the number at both ends of each block is written and checked.
 * Beware       the size of the pipe (64 KiB on Linux, different elsewhere) decides how often the
 *              two must wait for each other. With place=1 one processor makes both copies. With
 *              place=2 two processors make them at the same time, and the bytes go from one
 *              processor's cache to the other's. With place=0 the scheduler decides again in each
 *              trial. Blocks that fit into the caches stay there, so this does not measure memory.
 *              Each batch begins and ends with an empty pipe. Under Wine, a block larger than the
 *              pipe's 64 KiB takes several writes.
 * After        bw_pipe of lmbench (McVoy and Staelin, 1996).
 */
#include "blocks.h"

static int setup(void)
{
	int outcome = pair_by_pipes();

	return outcome ? outcome : blocks_start();
}

const struct workload workload_pipe_bandwidth = {
	.name = "pipe_bandwidth",
	.group = "ipc",
	.summary = "blocks sent from one process to another through a pipe",
	.operation = "block",
	.setup = setup,
	.run = run,
	.teardown = pair_end,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
