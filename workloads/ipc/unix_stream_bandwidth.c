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
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../api/workload.h"
#include "blocks.h"

static struct {
	int   ends[2]; /* ours, the writer's; the counts of blocks go the other way */
	pid_t writer;
} s = { .ends = { -1, -1 }, .writer = -1 };

static void serve(void)
{
	close(s.ends[0]);
	blocks_write(s.ends[1], s.ends[1]);
}

static int setup(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s.ends))
		return errno == EAFNOSUPPORT ? unsupported("there are no UNIX-domain sockets")
		                             : fail("socketpair");
	s.writer = partner_start(serve, &s, sizeof(s));
	if (s.writer < 0)
		return fail("fork");
	close(s.ends[1]);
	s.ends[1] = -1;
	block_touch();
	return blocks_read(1, s.ends[0], s.ends[0]); /* untimed: now both are there */
}

static int run(uint64_t operations)
{
	return blocks_read(operations, s.ends[0], s.ends[0]);
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++)
		if (s.ends[end] >= 0)
			close(s.ends[end]);
	partner_end(&s.writer);
}

const struct workload workload_unix_stream_bandwidth = {
	.name       = "unix_stream_bandwidth",
	.group      = "ipc",
	.summary    = "blocks from one process to another through a UNIX-domain stream",
	.operation  = "block",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = block_parameters,
	.bytes      = &size,
	.calls      = block_calls,
};
