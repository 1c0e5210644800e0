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
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"
#include "blocks.h"

static struct {
	int   data[2], counts[2];
	pid_t writer;
} s = { .data = { -1, -1 }, .counts = { -1, -1 }, .writer = -1 };

static void serve(void)
{
	close(s.data[0]);
	close(s.counts[1]);
	blocks_write(s.counts[0], s.data[1]);
}

static int setup(void)
{
	if (pipe_make(s.data) || pipe_make(s.counts))
		return fail("pipe");
	s.writer = partner_start(serve, &s, sizeof(s));
	if (s.writer < 0)
		return fail("making the partner");
	close(s.data[1]);
	close(s.counts[0]);
	s.data[1] = s.counts[0] = -1;
	block_touch();
	return blocks_read(1, s.counts[1], s.data[0]); /* untimed: now both are there */
}

static int run(uint64_t operations)
{
	return blocks_read(operations, s.counts[1], s.data[0]);
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++) {
		if (s.data[end] >= 0)
			close(s.data[end]);
		if (s.counts[end] >= 0)
			close(s.counts[end]);
	}
	partner_end(&s.writer);
}

const struct workload workload_pipe_bandwidth = {
	.name       = "pipe_bandwidth",
	.group      = "ipc",
	.summary    = "blocks from one process to another through a pipe",
	.operation  = "block",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = block_parameters,
	.bytes      = &size,
	.calls      = block_calls,
};
