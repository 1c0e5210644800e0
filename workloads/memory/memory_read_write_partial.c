/* memory_read_write_partial -- increment one word of four bytes in every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which lines come to a processor that changes a quarter of each, and
 *              go back.
 * Leaves out   the other three words of each cell.
 * Beware       an operation is one pass, and counts the whole area's size once although a quarter
 *              is read and written, as lmbench does. Loads and stores are volatile, so that each is
 *              made. Each batch checks in three places that the words have grown by the number of
 *              its passes.
 * After        bw_mem rdwr of lmbench (McVoy and Staelin, 1996).
 */
enum { WORDS_PASSED = 1 }; /* of each cell: its first */

#include "incrementing.h"

const struct workload workload_memory_read_write_partial = {
	.name         = "memory_read_write_partial",
	.group        = "memory",
	.summary      = "one word in four of an area incremented",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 256,
};
