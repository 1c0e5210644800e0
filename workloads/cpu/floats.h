/* floats.h -- the phases of float_operations and of double_operations, which differ in `number`
 * and in the operands. See chains.h. */
#ifndef STEELYARD_FLOATS_H
#define STEELYARD_FLOATS_H

/* Twelve chains keep two units of six cycles' latency busy, and have room in the sixteen registers
 * of x86-64 together with their operands. */
enum { CHAINS = 12 };
/* clang-format off */
#define EACH(step)                                                                              \
	step(x0); step(x1); step(x2); step(x3); step(x4); step(x5); step(x6); step(x7);         \
	step(x8); step(x9); step(x10); step(x11)
/* clang-format on */

#include "chains.h"

#if defined(__SSE2__)
#define HELD(x) HELD_IN("+x", x)
#elif defined(__aarch64__)
#define HELD(x) HELD_IN("+w", x)
#elif defined(__riscv_flen) || defined(__powerpc__) || defined(__s390x__) || defined(__loongarch__)
#define HELD(x) HELD_IN("+f", x)
#else
#define HELD(x) HELD_IN("+m", x) /* and every operation waits for memory too */
#endif

/* START, after an operation with THERE and back, is START again, to the last bit, with
 * round-to-nearest. */
static struct operands add_on = { START, THERE, -THERE };
static struct operands mul_on = { START, THERE, 1 / THERE };
static struct operands div_on = { START, THERE, 1 / THERE };

/* clang-format off */
#define ADD_A(x) do { x += a; HELD(x); } while (0)
#define ADD_B(x) do { x += b; HELD(x); } while (0)
#define MUL_A(x) do { x *= a; HELD(x); } while (0)
#define MUL_B(x) do { x *= b; HELD(x); } while (0)
#define DIV_A(x) do { x /= a; HELD(x); } while (0)
#define DIV_B(x) do { x /= b; HELD(x); } while (0)
/* clang-format on */

static number add_after(uint64_t operations)
{
	return operations % 2 ? add_on.start + add_on.a : add_on.start;
}

static number mul_after(uint64_t operations)
{
	return operations % 2 ? mul_on.start * mul_on.a : mul_on.start;
}

static number div_after(uint64_t operations)
{
	return operations % 2 ? div_on.start / div_on.a : div_on.start;
}

CHAIN_PHASES(add, ADD_A, ADD_B)
CHAIN_PHASES(mul, MUL_A, MUL_B)
CHAIN_PHASES(div, DIV_A, DIV_B)

/* The mixture goes from one array to another. The first stays the same, and so do its numbers. */
enum { ELEMENTS = 1000 };

static struct operands mixed_on = { START, THERE, 1 / START };
static number          from[ELEMENTS], to[ELEMENTS];

static int setup(void)
{
	uint32_t state = 1;

	for (int i = 0; i < ELEMENTS; i++)
		from[i] = 1 + (number)next_number(&state) / (number)4294967296;
	return 0;
}

#define MIX(i)                              \
	do {                                \
		number x = from[i] + start; \
		HELD(x);                    \
		MUL_B(x);                   \
		DIV_A(x);                   \
		to[i] = x;                  \
	} while (0)

/* Computes each element again, as far as they were written, with every step through memory. */
static int mixed_check(int written)
{
	for (int i = 0; i < written; i++) {
		volatile number x = from[i];

		x += mixed_on.start;
		x *= mixed_on.b;
		x /= mixed_on.a;
		if (to[i] != x)
			return wrong_answer("mixed");
	}
	return 0;
}

static int mixed(uint64_t operations)
{
	uint64_t passes = operations / ELEMENTS;
	int      rest = (int)(operations % ELEMENTS);
	number   start = mixed_on.start, a = mixed_on.a, b = mixed_on.b;

	for (int i = 0; i < ELEMENTS; i++)
		to[i] = 0;
	for (; passes; passes--) {
		for (int i = 0; i < ELEMENTS; i += 8) {
			MIX(i);
			MIX(i + 1);
			MIX(i + 2);
			MIX(i + 3);
			MIX(i + 4);
			MIX(i + 5);
			MIX(i + 6);
			MIX(i + 7);
		}
		keep(to);
	}
	for (int i = 0; i < rest; i++)
		MIX(i);
	return mixed_check(operations < ELEMENTS ? rest : ELEMENTS);
}

/* clang-format off */
static const struct phase phases[] = {
	{ .metric = "add", .run = add_chain },
	{ .metric = "add_parallel", .run = add_chains },
	{ .metric = "mul", .run = mul_chain },
	{ .metric = "mul_parallel", .run = mul_chains },
	{ .metric = "div", .run = div_chain },
	{ .metric = "div_parallel", .run = div_chains },
	{ .metric = "mixed", .run = mixed },
	{ 0 },
};
/* clang-format on */

#endif
