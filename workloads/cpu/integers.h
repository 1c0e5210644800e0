/* integers.h -- the phases of integer_operations and of long_operations, which differ in `number`
 * and in the operands. See chains.h. */
#ifndef STEELYARD_INTEGERS_H
#define STEELYARD_INTEGERS_H

/* Eight chains keep eight adders of one cycle's latency busy, and have room in the fifteen
 * registers of x86-64 together with what a division needs. */
enum { CHAINS = 8 };
/* clang-format off */
#define EACH(step) step(x0); step(x1); step(x2); step(x3); step(x4); step(x5); step(x6); step(x7)
/* clang-format on */

#include "chains.h"

#define HELD(x) HELD_IN("+r", x)

static struct operands bit_on = { BIT_OPERANDS }, add_on = { ADD_OPERANDS };
static struct operands mul_on = { MUL_OPERANDS }, div_on = { DIV_OPERANDS };
static struct operands mod_on = { MOD_OPERANDS };

/* clang-format off */
#define BIT(x) do { x ^= a; HELD(x); } while (0)
#define ADD(x) do { x += a; HELD(x); } while (0)
#define MUL(x) do { x *= a; HELD(x); } while (0)
/* clang-format on */

/* Written by hand where it is one instruction, because clang first checks whether 64-bit numbers
 * would fit in 32 bits. The upper half of the dividend, in the second register, is zero. */
#if defined(__x86_64__)
#define DIVIDE(quotient, remainder, dividend, divisor)                      \
	__asm__ volatile("div %[by]"                                        \
	                 : "=a"(quotient), "=d"(remainder)                  \
	                 : [by] "r"(divisor), "a"(dividend), "d"((number)0) \
	                 : "cc")
/* clang-format off */
#define DIV(x) do { number rest_; DIVIDE(x, rest_, a, x); } while (0)
#define MOD(x) do { number whole_; DIVIDE(whole_, x, x, a); x += b; HELD(x); } while (0)
/* clang-format on */
#else
/* clang-format off */
#define DIV(x) do { x = a / x; HELD(x); } while (0)
#define MOD(x) do { x %= a; HELD(x); x += b; HELD(x); } while (0)
/* clang-format on */
#endif

/* What each chain must come to, by a shorter way. */

static number bit_after(uint64_t operations)
{
	return operations % 2 ? bit_on.start ^ bit_on.a : bit_on.start;
}

static number add_after(uint64_t operations)
{
	return add_on.start + (number)operations * add_on.a;
}

static number mul_after(uint64_t operations)
{
	number product = mul_on.start;

	for (number power = mul_on.a; operations; operations /= 2, power *= power)
		if (operations % 2)
			product *= power;
	return product;
}

/* start is at most the dividend's root, so dividing by the quotient gives it again. */
static number div_after(uint64_t operations)
{
	return operations % 2 ? div_on.a / div_on.start : div_on.start;
}

/* Remainders add up; start is b, and the divisor so small that the product fits in 64 bits. */
static number mod_after(uint64_t operations)
{
	uint64_t divisor = mod_on.a, each = mod_on.b % divisor;

	return (number)(operations % divisor * each % divisor) + mod_on.b;
}

CHAIN_PHASES(bit, BIT, BIT)
CHAIN_PHASES(add, ADD, ADD)
CHAIN_PHASES(mul, MUL, MUL)
CHAIN_PHASES(div, DIV, DIV)
CHAIN_PHASES(mod, MOD, MOD)

/* clang-format off */
static const struct phase phases[] = {
	{ .metric = "bit", .run = bit_chain },
	{ .metric = "bit_parallel", .run = bit_chains },
	{ .metric = "add", .run = add_chain },
	{ .metric = "add_parallel", .run = add_chains },
	{ .metric = "mul", .run = mul_chain },
	{ .metric = "mul_parallel", .run = mul_chains },
	{ .metric = "div", .run = div_chain },
	{ .metric = "div_parallel", .run = div_chains },
	{ .metric = "mod", .run = mod_chain },
	{ .metric = "mod_parallel", .run = mod_chains },
	{ 0 },
};
/* clang-format on */

#endif
