/* arrivals.c -- see arrivals.h. */
#include "arrivals.h"

#include <math.h>

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

uint64_t random_time(uint64_t *state, double mean_ns, enum spread spread)
{
	if (spread == SPREAD_CONSTANT)
		return (uint64_t)mean_ns;
	return (uint64_t)(-mean_ns * log1p(-random_share(state)));
}
