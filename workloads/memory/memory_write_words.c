/* memory_write_words -- write every word of four bytes of an area, one after another.
 *
 * Measures     the rate of stores of a program that works word by word, as bandwidth: in the
 *              nearest caches the processor's stores limit it, beyond them the memory does.
 * Leaves out   wide stores: memory_write.
 * Beware       an operation is one pass, and counts the area's size once; beyond the caches the
 *              memory moves twice as much, because lines are read before they are written.
 *              Compilers would gather the stores into wide ones or a call of memset: they are
 *              volatile. Each batch writes a number of its own, for which three places are checked.
 * After        bw_mem fwr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "writing.h"

static void passes(uint64_t operations, uint32_t number)
{
	write_words(operations, number);
}

const struct workload workload_memory_write_words = {
	.name         = "memory_write_words",
	.group        = "memory",
	.summary      = "every word of four bytes of an area written by itself",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 1024,
};
