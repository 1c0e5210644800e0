/* random.c -- see random.h. */
#include "random.h"

uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

double random_share(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}
