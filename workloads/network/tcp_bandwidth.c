/* tcp_bandwidth -- send blocks of data from one process to another through a TCP connection.
 *
 * Measures     writing blocks into a TCP connection and reading them: copying into and out of the
 *              kernel, the TCP and IP layers, the loopback interface, and the switches between
 *              writer and reader when the connection's buffers are full or empty.
 * Leaves out   making the connection and the writer (in setup).
 * Beware       the buffers have the kernel's default sizes, as in a program that does not set them.
 *              They hold many blocks; so the writer waits for the batch's count and writes exactly
 *              that many blocks, and the batch ends when the last one has been read. The last block
 *              of a batch is sent at once (TCP_NODELAY), so blocks smaller than a packet cost a
 *              packet each. Both processes write to their whole block beforehand; otherwise the
 *              writer would read one page of zeros again and again. A block larger than the
 *              processor's caches is read from memory. The number of each block is checked. No
 *              packet leaves the machine.
 * After        bw_tcp of lmbench (McVoy and Staelin, 1996).
 */
#include <errno.h>
#include <string.h>

#include "../api/system.h"
#include "../api/workload.h"
#include "loopback.h"

enum { SIZE_MOST = 16777216, PAGE = 4096 };

static uint64_t       size = 65536;
static unsigned char *block;

static struct {
	socket_t ends[2];
	pid_t    writer;
} s = { .ends = { -1, -1 }, .writer = -1 };

/* As much of a block's number as it has room for. */
static size_t stamp_bytes(void)
{
	return size < sizeof(uint64_t) ? size : sizeof(uint64_t);
}

static int block_take(void)
{
	block = aligned_take(PAGE, (size + PAGE - 1) / PAGE * PAGE);
	return block ? 0 : -1;
}

/* The other process: for each count that comes, writes that many numbered blocks. */
static void serve(void)
{
	uint64_t blocks, number = 0;

	if (sockets_inherit(&s.ends[1], &s.ends[0]) || (!block && block_take())) /* a fork has its
	                                                                            maker's block */
		return;
	memset(block, 0x55, size);
	while (!socket_read_whole(s.ends[1], &blocks, sizeof(blocks)))
		while (blocks--) {
			memcpy(block, &number, stamp_bytes());
			number++;
			if (socket_write_whole(s.ends[1], block, size))
				return;
		}
}

static int transfer(uint64_t operations)
{
	static uint64_t expected;

	if (socket_write_whole(s.ends[0], &operations, sizeof(operations)))
		return fail("write");
	while (operations--) {
		if (socket_read_whole(s.ends[0], block, size))
			return errno ? fail("read") : fail_check("the writer ended the connection");
		if (memcmp(block, &expected, stamp_bytes()))
			return fail_check("another block came in place of block %llu",
			                  (unsigned long long)expected);
		expected++;
	}
	return 0;
}

static int setup(void)
{
	int outcome = loopback_stream(s.ends);

	if (outcome)
		return outcome;
	if (block_take())
		return fail("aligned_take");
	s.writer = partner_start(serve, &s, sizeof(s));
	if (s.writer < 0)
		return fail("making the partner");
	loopback_close(&s.ends[1]);
	memset(block, 0xaa, size);
	return transfer(1); /* when it is over, the other process is there */
}

static void teardown(void)
{
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.writer);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a block, which is one write", &size, 1, SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_tcp_bandwidth = {
	.name = "tcp_bandwidth",
	.group = "network",
	.summary = "blocks sent from one process to another through TCP",
	.operation = "block",
	.setup = setup,
	.run = transfer,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
