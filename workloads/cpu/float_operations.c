/* float_operations -- basic operations on 32-bit floats, in one chain and in twelve.
 *
 * Measures     add, mul and div, each in two ways. In one chain each operation needs the answer of
 *              the one before: its latency. With twelve independent chains in turn (add_parallel
 *              and so on): the time per operation. The first divided by the second is how many
 *              operations the processor does at once. Also mixed: (x + a) * b / c for each number x
 *              of an array of a thousand, where one number is one operation.
 * Leaves out   vectors and fused operations: a barrier after each operation keeps compilers from
 *              both.
 * Beware       each operation is one instruction. Its operand alternates between a number and its
 *              negative or reciprocal, so that a chain moves back and forth between two numbers
 *              near 1 that are not short fractions. None overflows or is denormal, and none is 0, 1
 *              or a power of two, for which some dividers are faster. After each batch every chain
 *              must be back to the last bit, and each number of the array is checked. It cannot
 *              show more than twelve at once, and with fewer than sixteen registers the parallel
 *              phases go through memory.
 * After        lat_ops and par_ops of lmbench (McVoy and Staelin); mixed follows its bogomflops.
 */
typedef float number;

#define START 1.2619164f
#define THERE 1.1801698f

#include "floats.h"

const struct workload workload_float_operations = {
	.name = "float_operations",
	.group = "cpu",
	.summary = "add, mul, div of 32-bit floats, in one chain and in twelve; a mixture",
	.operation = "operation",
	.setup = setup,
	.phases = phases,
	.instructions = 1,
};
