/* float_operations -- basic operations on 32-bit floats, in one chain and in twelve.
 *
 * Measures     add, mul and div, each twice: its latency, in a chain where each operation needs
 *              the answer of the one before; and, as add_parallel and so on, the time per
 *              operation where twelve independent chains are done by turns. The first divided by
 *              the second is how many the processor does at once. And mixed: (x + a) * b / c for
 *              each number x of an array of a thousand, where one operation is one number.
 * Leaves out   vectors and fused operations: a barrier after each operation keeps compilers from
 *              both.
 * Beware       each operation is one instruction. Its operand is by turns a number and its
 *              negative or reciprocal, so that a chain goes there and back between two numbers
 *              near 1 that are no short fractions: none overflows, is denormal, or is 0, 1 or a
 *              power of two, for which some dividers are faster. That every chain came back to the
 *              last bit, and each number of the array, is checked after each batch. More than
 *              twelve at once cannot be seen, and with fewer than sixteen registers the parallel
 *              phases go through memory.
 * After        lat_ops and par_ops of lmbench (McVoy and Staelin); mixed after its bogomflops.
 */
typedef float number;

#define START 1.2619164f
#define THERE 1.1801698f

#include "floats.h"

const struct workload workload_float_operations = {
	.name         = "float_operations",
	.group        = "cpu",
	.summary      = "add, mul, div of 32-bit floats, in one chain and in twelve; a mixture",
	.operation    = "operation",
	.setup        = setup,
	.phases       = phases,
	.instructions = 1,
};
