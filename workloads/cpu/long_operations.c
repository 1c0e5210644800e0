/* long_operations -- basic operations on unsigned 64-bit integers, in one chain and in eight.
 *
 * Measures     bit (exclusive or), add, mul, div and mod, each in two ways. In one chain each
 *              operation needs the answer of the one before: its latency. With eight independent
 *              chains in turn (bit_parallel and so on): the time per operation. The first divided
 *              by the second is how many operations the processor does at once.
 * Leaves out   memory and the kernel: all operands stay in registers.
 * Beware       bit, add and mul are one instruction each. A division on x86-64 is one too, with
 *              three others that put its operands in place, which modern processors do at the same
 *              time. A remainder is smaller than its divisor, so mod adds a number before it
 *              continues: its time includes an addition, in one chain as in eight. Dividers take
 *              longer for longer quotients. Here a quotient has half the bits of the type, no
 *              operand is a power of two, and hardly any division comes out even. It cannot show
 *              more than eight at once, and with fewer than sixteen registers the parallel phases
 *              go through memory. The answer of each chain is compared with one from a formula.
 * After        lat_ops and par_ops of lmbench (McVoy and Staelin), there "int64".
 */
#include <stdint.h>

typedef uint64_t number;

/* The start, the operand that is used again and again, and for mod the number that is added. */
#define BIT_OPERANDS 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0
#define ADD_OPERANDS 0x3c6ef372fe94f82b, 0x9e3779b97f4a7c15, 0
#define MUL_OPERANDS                                                                     \
	0x3c6ef372fe94f82b, 0x5851f42d4c957f2d, 0      /* both odd: no product is ever 0 \
	                                                  \ */
#define DIV_OPERANDS 3141592653, 0xdeadbeefcafef00d, 0 /* the divisor; the dividend */
#define MOD_OPERANDS 0xdeadbeefcafef00d, 3141592653, 0xdeadbeefcafef00d

#include "integers.h"

const struct workload workload_long_operations = {
	.name = "long_operations",
	.group = "cpu",
	.summary = "bit, add, mul, div, mod of 64-bit integers, in one chain and in eight",
	.operation = "operation",
	.phases = phases,
	.instructions = 1,
};
