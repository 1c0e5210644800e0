/* random.h -- random numbers by seed: from the same seed the same on every system. */
#ifndef STEELYARD_RANDOM_H
#define STEELYARD_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea and Flood 2014), and of it a number from 0 up to, and without, 1. */
uint64_t random_next(uint64_t *state);
double random_share(uint64_t *state);

/* The next number of Marsaglia's 32-bit xorshift. It is in line, because some workloads time it. */
static inline uint32_t next_number(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Fills `order` with the numbers below `count` in a random order (Fisher and Yates), by xorshift
 * from that state, which is not 0. */
static inline void random_order_from(uint32_t state, uint32_t order[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i-- > 1;) {
		uint32_t other = next_number(&state) % (i + 1), held = order[i];

		order[i] = order[other];
		order[other] = held;
	}
}

static inline void random_order(uint32_t order[], uint32_t count)
{
	random_order_from(2463534242u, order, count);
}

#endif
