/* memory_write_words -- write an area four bytes at a time, word after word.
 *
 * Measures     the rate of stores of a program that works word by word, as a bandwidth. In the
 *              nearest caches the processor's stores limit it, beyond them the memory.
 * Leaves out   wide stores (memory_write).
 * Beware       an operation is one pass, and counts the area's size once. Beyond the caches the
 *              memory moves twice as much, because lines are read before they are written. A
 *              compiler would combine the stores into wide ones or a call of memset, so they are
 *              volatile. Each batch writes a new number, and three places are checked for it
 *              afterwards.
 * After        bw_mem fwr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "writing.h"

static void passes(uint64_t operations, uint32_t number)
{
	write_words(operations, number);
}

const struct workload workload_memory_write_words = {
	.name = "memory_write_words",
	.group = "memory",
	.summary = "an area written four bytes at a time",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 1024,
};
