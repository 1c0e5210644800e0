/* memory_copy_partial -- copy the first four of every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which cache lines come and go for a processor that copies a quarter
 *              of each.
 * Leaves out   the other three words of four bytes.
 * Beware       an operation is one pass. It counts the whole size once although only a quarter is
 *              copied, as lmbench does. Loads and stores are volatile, so that the compiler keeps
 *              each one. Each batch puts new numbers into three places of the source, which must
 *              arrive in the copy.
 * After        bw_mem cp of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 1 }; /* of each cell: its first */

#include "copying.h"

static void passes(uint64_t operations)
{
	copy_words(operations);
}

const struct workload workload_memory_copy_partial = {
	.name = "memory_copy_partial",
	.group = "memory",
	.summary = "one word in four of an area copied to another",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 512,
};
