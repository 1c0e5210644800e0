/* blocks.h -- a stream of numbered blocks from another process: what the bandwidth workloads of
 * this group share. Each of them has all of this for itself.
 *
 * What is between the processes holds a good deal, so a batch that began with it full would read
 * work of the batch before: the writer waits for a batch's count of blocks and writes exactly that
 * many, and the batch ends when the last has been read to its end. Each block has its number at
 * both its ends.
 */
#ifndef STEELYARD_IPC_BLOCKS_H
#define STEELYARD_IPC_BLOCKS_H

#include "pair.h"

enum { SIZE_LEAST = 512, SIZE_MOST = 1 << 20 };

static uint64_t size = 65536;

/* In whole pages, because the alignment decides how fast a kernel copies. */
static _Alignas(4096) unsigned char block[SIZE_MOST];

/* In each of the two processes before the first batch: fresh memory is one page of zeros, read by
 * the writer over and over, and shared memory is copied when it is first written. */
static inline void block_touch(void)
{
	memset(block, 0x5a, size);
}

/* The other process's work: for each count that comes in, writes that many blocks. */
static void serve(void)
{
	const int counts = pair.partners[IN], out = pair.partners[OUT];
	uint64_t  blocks, number = 0;

	pair_join();
	block_touch();
	while (!read_whole(counts, &blocks, sizeof(blocks)))
		while (blocks--) {
			memcpy(block, &number, sizeof(number));
			memcpy(block + size - sizeof(number), &number, sizeof(number));
			number++;
			if (write_whole(out, block, size))
				return;
		}
}

static int run(uint64_t operations)
{
	static uint64_t expected;
	const int       counts = pair.ours[OUT], in = pair.ours[IN];

	if (write_whole(counts, &operations, sizeof(operations)))
		return fail("write");
	for (; operations--; expected++) {
		uint64_t first, last;

		if (read_whole(in, block, size))
			return errno ? fail("read") : fail_check("the other process ended");
		memcpy(&first, block, sizeof(first));
		memcpy(&last, block + size - sizeof(last), sizeof(last));
		if (first != expected || last != expected)
			return fail_check("a block from %llu to %llu came in place of block %llu",
			                  (unsigned long long)first, (unsigned long long)last,
			                  (unsigned long long)expected);
	}
	return 0;
}

/* Starts the other process, and reads a block of it, untimed: now both are there. */
static inline int blocks_start(void)
{
	int outcome = pair_start(serve);

	block_touch();
	return outcome ? outcome : run(1);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a block: of one write", &size, SIZE_LEAST, SIZE_MOST),
	{ 0 },
};

/* The reader's reads are as many as the pieces in which a block comes. */
static const struct call calls[] = { { "write", 1 }, { 0 } };

#endif
