/* integer_operations -- basic operations on unsigned 32-bit integers, in one chain and in eight.
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
 * After        lat_ops and par_ops of lmbench (McVoy and Staelin), there "integer".
 */
#include <stdint.h>

typedef uint32_t number;

/* The start, the operand that is used again and again, and for mod the number that is added. */
#define BIT_OPERANDS 0x3c6ef372, 0xa54ff53a, 0
#define ADD_OPERANDS 0x3c6ef372, 0x9e3779b9, 0
#define MUL_OPERANDS 0x3c6ef373, 0x915f77f5, 0 /* both odd: no product is ever 0 */
#define DIV_OPERANDS 48611, 0xdeadbeef, 0      /* the divisor; the dividend */
#define MOD_OPERANDS 0xdeadbeef, 48611, 0xdeadbeef

#include "integers.h"

const struct workload workload_integer_operations = {
	.name = "integer_operations",
	.group = "cpu",
	.summary = "bit, add, mul, div, mod of 32-bit integers, in one chain and in eight",
	.operation = "operation",
	.phases = phases,
	.instructions = 1,
};
