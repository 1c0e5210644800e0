/* memory_write -- write every byte of an area by the widest stores.
 *
 * Measures     the bandwidth of writing to the cache or memory that holds the area, by one
 *              processor, with ordinary stores. It writes the two halves of the area side by side.
 * Leaves out   stores that bypass the caches (memory_copy), and what the system or the processor
 *              does faster for zeros (memory_zero).
 * Beware       an operation is one pass over the area, and counts its size once. Beyond the caches
 *              each line is also read before it is written, and written back later, so the memory
 *              moves twice as much. memset with a value other than 0 was seen to be a third faster
 *              there, because string instructions need not read the lines. Each store writes 16, 32
 *              or 64 bytes (`width`), by default the most there is. Each batch writes a new number,
 *              and three places are checked for it afterwards. All pages are touched before
 *              anything is timed.
 * After        bw_mem fwr of lmbench (McVoy and Staelin, 1996), which writes four bytes at a time.
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "wide.h"
#include "writing.h"

typedef void writes(uint64_t operations, unsigned char *start, size_t bytes, uint32_t number);

static uint64_t width;
static writes  *chosen;

#define WRITE(name, vector, instructions)                                                      \
	instructions static void name(uint64_t operations, unsigned char *start, size_t bytes, \
	                              uint32_t number)                                         \
	{                                                                                      \
		vector v = { 0 };                                                              \
                                                                                               \
		v += (uint64_t)number << 32 | number;                                          \
		while (operations--) {                                                         \
			vector *front = (vector *)start;                                       \
			vector *back = (vector *)(start + bytes / 2), *end = back;             \
                                                                                               \
			forget(front);                                                         \
			do {                                                                   \
				front[0] = v;                                                  \
				front[1] = v;                                                  \
				front[2] = v;                                                  \
				front[3] = v;                                                  \
				back[0] = v;                                                   \
				back[1] = v;                                                   \
				back[2] = v;                                                   \
				back[3] = v;                                                   \
				front += 4;                                                    \
				back += 4;                                                     \
				forget(back);                                                  \
			} while (front != end);                                                \
		}                                                                              \
	}

WRITE(write_16, wide_16, )
WRITE(write_32, wide_32, WIDE_32)
WRITE(write_64, wide_64, WIDE_64)

static int setup(void)
{
	static writes *const ways[] = { write_16, write_32, write_64 };
	int                  way = wide_way(width, wide_most());

	if (way < 0)
		return way;
	chosen = ways[way];
	return 0;
}

static void passes(uint64_t operations, uint32_t number)
{
	chosen(operations, s.area.start, s.area.size, number);
}

static const struct parameter parameters[] = { WIDTH(&width), { 0 } };

const struct workload workload_memory_write = {
	.name = "memory_write",
	.group = "memory",
	.summary = "every byte of an area written by the widest stores",
	.operation = "pass",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 64,
};
