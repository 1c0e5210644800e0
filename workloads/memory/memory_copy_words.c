/* memory_copy_words -- copy an area to another four bytes at a time.
 *
 * Measures     the rate of loads and stores of a program that copies word by word, as a bandwidth.
 * Leaves out   wide loads and stores, and those that bypass the caches (memory_copy).
 * Beware       an operation is one pass. It counts each byte copied once, although the byte is read
 *              and written. A compiler would turn the loop into wide copies or a call of memcpy, so
 *              the loads and stores are volatile. Each batch puts new numbers into three places of
 *              the source, which must arrive in the copy.
 * After        bw_mem fcp of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "copying.h"

static void passes(uint64_t operations)
{
	copy_words(operations);
}

const struct workload workload_memory_copy_words = {
	.name = "memory_copy_words",
	.group = "memory",
	.summary = "an area copied to another four bytes at a time",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 2048,
};
