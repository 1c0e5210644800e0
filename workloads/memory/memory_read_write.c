/* memory_read_write -- increment every word of four bytes of an area, word after word.
 *
 * Measures     the rate of loads and stores of a program that changes data in place, word by word,
 *              as a bandwidth.
 * Leaves out   wide loads and stores (memory_copy).
 * Beware       an operation is one pass. It counts the area's size once, although each word is read
 *              and written. Loads and stores are volatile, so that no compiler combines them into
 *              wide ones, or several passes into one addition. After each batch three places must
 *              have grown by the number of passes.
 * After        bw_mem rdwr of lmbench (McVoy and Staelin, 1996), which increments one word in four.
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "incrementing.h"

const struct workload workload_memory_read_write = {
	.name = "memory_read_write",
	.group = "memory",
	.summary = "every word of four bytes of an area incremented",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 1024,
};
