/* arrivals.c -- see arrivals.h. */
#include "arrivals.h"

#include <math.h>

#include "../base/random.h"

uint64_t random_time(uint64_t *state, double mean_ns, enum spread spread)
{
	if (spread == SPREAD_CONSTANT)
		return (uint64_t)mean_ns;
	return (uint64_t)(-mean_ns * log1p(-random_share(state)));
}
