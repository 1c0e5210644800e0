/* integer_operations -- basic operations on unsigned 32-bit integers, in one chain and in eight.
 *
 * Measures     bit (exclusive or), add, mul, div and mod, each twice: its latency, in a chain
 *              where each operation needs the answer of the one before; and, as bit_parallel and
 *              so on, the time per operation where eight independent chains are done by turns. The
 *              first divided by the second is how many the processor does at once.
 * Leaves out   memory and the kernel: all operands stay in registers.
 * Beware       bit, add and mul are one instruction each. A division on x86-64 is one too, and
 *              takes with it three that put its operands in their places, which modern processors
 *              do beside it. A remainder is less than its divisor, so mod adds a number to go on
 *              with: its time is that of a remainder and an addition, in one chain as in eight.
 *              Dividers take longer for longer quotients: here a quotient has half the bits of the
 *              type, no operand is a power of two, and hardly any division comes out even. More
 *              than eight at once cannot be seen, and with fewer than sixteen registers the
 *              parallel phases go through memory. Each chain's answer is compared with the one
 *              that a formula gives.
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
	.name         = "integer_operations",
	.group        = "cpu",
	.summary      = "bit, add, mul, div, mod of 32-bit integers, in one chain and in eight",
	.operation    = "operation",
	.phases       = phases,
	.instructions = 1,
};
