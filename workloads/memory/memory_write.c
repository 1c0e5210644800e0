/* memory_write -- write every byte of an area by the widest stores.
 *
 * Measures     the bandwidth of writing to whichever cache or memory holds the area, by one
 *              processor, with ordinary stores. The area's two halves are written side by side.
 * Leaves out   stores that bypass the caches (memory_copy has them), and what the system or the
 *              processor does faster for zeros (memory_zero).
 * Beware       an operation is one pass over the area, and counts its size once; but beyond the
 *              caches each line is also read before it is written, and written back later, so the
 *              memory moves twice as much; memset of another value than 0 was seen faster by a
 *              third there, because string instructions need not read the lines. The stores are of
 *              16, 32 or 64 bytes (`width`), by default the widest there are. Each batch writes a
 *              number of its own, and three places of the area are checked for it after the batch.
 *              Pages are touched before anything is timed.
 * After        bw_mem fwr of lmbench (McVoy and Staelin, 1996), which writes by words of four
 *              bytes.
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "wide.h"
#include "writing.h"

typedef void writes(uint64_t operations, unsigned char *start, size_t bytes, uint32_t number);

static uint64_t width;
static writes  *chosen;

#define WRITE(name, vector, instructions)                                                \
	instructions static void name(uint64_t operations, unsigned char *start,         \
	                              size_t bytes, uint32_t number)                     \
	{                                                                                \
		vector v = { 0 };                                                        \
                                                                                         \
		v += (uint64_t)number << 32 | number;                                    \
		while (operations--) {                                                   \
			vector *front = (vector *)start;                                 \
			vector *back = (vector *)(start + bytes / 2), *end = back;       \
                                                                                         \
			forget(front);                                                   \
			do {                                                             \
				front[0] = v;                                            \
				front[1] = v;                                            \
				front[2] = v;                                            \
				front[3] = v;                                            \
				back[0] = v;                                             \
				back[1] = v;                                             \
				back[2] = v;                                             \
				back[3] = v;                                             \
				front += 4;                                              \
				back += 4;                                               \
				forget(back);                                            \
			} while (front != end);                                          \
		}                                                                        \
	}

WRITE(write_16, wide_16, )
WRITE(write_32, wide_32, WIDE_32)
WRITE(write_64, wide_64, WIDE_64)

static int setup(void)
{
	static writes *const ways[] = { write_16, write_32, write_64 };
	int way = wide_way(width, wide_most());

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
	.name         = "memory_write",
	.group        = "memory",
	.summary      = "every byte of an area written by the widest stores",
	.operation    = "pass",
	.setup        = setup,
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 64,
};
