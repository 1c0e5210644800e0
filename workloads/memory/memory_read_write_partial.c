/* memory_read_write_partial -- increment the first four of every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which cache lines come to a processor that changes a quarter of
 *              each, and go back.
 * Leaves out   the other three words of four bytes.
 * Beware       an operation is one pass. It counts the whole size once although only a quarter is
 *              read and written, as lmbench does. Loads and stores are volatile, so that the
 *              compiler keeps each one. After each batch three places must have grown by the number
 *              of passes.
 * After        bw_mem rdwr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 1 }; /* of each cell: its first */

#include "incrementing.h"

const struct workload workload_memory_read_write_partial = {
	.name = "memory_read_write_partial",
	.group = "memory",
	.summary = "one word in four of an area incremented",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 256,
};
