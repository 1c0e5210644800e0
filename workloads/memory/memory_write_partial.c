/* memory_write_partial -- write the first four of every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which cache lines come to a processor that writes a quarter of
 *              each, and go back: such a line must be read before it can be written.
 * Leaves out   the other three words of four bytes.
 * Beware       an operation is one pass. It counts the whole size although only a quarter is
 *              written, as lmbench does. The stores are volatile, so that the compiler keeps each
 *              one. Each batch writes a new number, and three places are checked for it afterwards.
 * After        bw_mem wr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 1 }; /* of each cell: its first */

#include "writing.h"

static void passes(uint64_t operations, uint32_t number)
{
	write_words(operations, number);
}

const struct workload workload_memory_write_partial = {
	.name = "memory_write_partial",
	.group = "memory",
	.summary = "one word in four of an area written",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 256,
};
