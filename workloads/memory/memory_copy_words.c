/* memory_copy_words -- copy an area to another by words of four bytes.
 *
 * Measures     the rate of loads and stores of a program that copies word by word, as bandwidth.
 * Leaves out   wide loads and stores, and those that bypass the caches: memory_copy.
 * Beware       an operation is one pass, and counts each byte copied once, although it is read and
 *              written. Compilers would make wide copies of it or a call of memcpy: loads and
 *              stores are volatile. Each batch finds new numbers in three places of the source, and
 *              must have brought them to the destination.
 * After        bw_mem fcp of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "copying.h"

static void passes(uint64_t operations)
{
	copy_words(operations);
}

const struct workload workload_memory_copy_words = {
	.name         = "memory_copy_words",
	.group        = "memory",
	.summary      = "an area copied to another by words of four bytes",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 2048,
};
