/* chains.h -- one operation of the processor, repeated in one chain and in several at once.
 *
 * A file that includes this defines the type `number`, CHAINS, and EACH(step), which does the step
 * for x0, x1, ... Each operation NAME has operands, NAME_on; an answer, NAME_after(operations); and
 * two macros, there(x) and back(x), which alternate and may use `a` and `b`. Both are the same
 * macro if x stays a typical number by itself; otherwise the second undoes the first.
 */
#ifndef STEELYARD_CHAINS_H
#define STEELYARD_CHAINS_H

#include "../api/workload.h"

/* The value goes through a statement that the compiler cannot see into, so it must be in a register
 * after each operation. So no operation is folded, fused, reordered, vectorised or left out. */
#define HELD_IN(kind, x) __asm__ volatile("" : kind(x))

/* Volatile, and read once per batch, so that the compiler does not know them. Otherwise it might
 * turn a division into a multiplication, or a summand into an immediate; some processors add
 * immediates while they rename registers, in no time. */
struct operands {
	volatile number start, a, b;
};

/* The phase of an operation has one chain, in which each operation waits for the one before. Its
 * parallel phase goes round all chains, ROUNDS times before it looks at its counter. The operations
 * that are left over go to the first chain. */
enum { ROUNDS = 32, LOOP = ROUNDS * CHAINS };

#define BEGIN_CHAIN(x)   number x = start
#define COMPARE_CHAIN(x) wrong |= x != other

#define CHAIN_PHASES(name, there, back)                                             \
	static int name##_chain(uint64_t operations)                                \
	{                                                                           \
		number x = name##_on.start, a = name##_on.a, b = name##_on.b;       \
                                                                                    \
		REPEAT(operations / 2, {                                            \
			there(x);                                                   \
			back(x);                                                    \
		});                                                                 \
		if (operations % 2)                                                 \
			there(x);                                                   \
		(void)b;                                                            \
		return x == name##_after(operations) ? 0 : wrong_answer(#name);     \
	}                                                                           \
                                                                                    \
	static int name##_chains(uint64_t operations)                               \
	{                                                                           \
		uint64_t loops = operations / LOOP, rest = operations % LOOP;       \
		number   start = name##_on.start, a = name##_on.a, b = name##_on.b; \
		number   other;                                                     \
		int      wrong;                                                     \
		EACH(BEGIN_CHAIN);                                                  \
                                                                                    \
		for (uint64_t left = loops; left; left--) {                         \
			REPEAT_8(EACH(there); EACH(back); EACH(there); EACH(back)); \
			__asm__ volatile("" : "+r"(left));                          \
		}                                                                   \
		for (uint64_t pairs = rest / 2; pairs; pairs--) {                   \
			there(x0);                                                  \
			back(x0);                                                   \
		}                                                                   \
		if (rest % 2)                                                       \
			there(x0);                                                  \
		(void)b;                                                            \
		wrong = x0 != name##_after(loops * ROUNDS + rest);                  \
		x0 = other = name##_after(loops * ROUNDS);                          \
		EACH(COMPARE_CHAIN);                                                \
		return wrong ? wrong_answer(#name "_parallel") : 0;                 \
	}

static int wrong_answer(const char *phase)
{
	return fail_check("%s came to another number than it must", phase);
}

#endif
