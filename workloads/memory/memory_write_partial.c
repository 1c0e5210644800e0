/* memory_write_partial -- write one word of four bytes into every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which lines come to a processor that writes a quarter of each, and
 *              go back: no such line can be written without being read first.
 * Leaves out   the other three words of each cell.
 * Beware       an operation is one pass, and counts the whole area's size although a quarter is
 *              written, as lmbench does. The stores are volatile, so that each is made. Each batch
 *              writes a number of its own, for which three places are checked.
 * After        bw_mem wr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 1 }; /* of each cell: its first */

#include "writing.h"

static void passes(uint64_t operations, uint32_t number)
{
	write_words(operations, number);
}

const struct workload workload_memory_write_partial = {
	.name         = "memory_write_partial",
	.group        = "memory",
	.summary      = "one word in four of an area written",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 256,
};
