/* chance.c -- see chance.h. */
#include "chance.h"

#include <math.h>

#include "../../base/logarithm.h"
#include "../../base/random.h"

/* A fused multiplication rounds once where two operations round twice. gcc fuses none in
 * -std=c11. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Between 0 and 1, neither of them. */
static double draw_share(uint64_t *state)
{
	return ((double)(random_next(state) >> 12) + 0.5) * 0x1p-52;
}

/* Marsaglia's polar method: sqrt is exact to the last bit everywhere, as IEEE 754 demands. */
static double draw_normal(uint64_t *state)
{
	for (;;) {
		double x = 2 * draw_share(state) - 1, y = 2 * draw_share(state) - 1,
		       s = x * x + y * y;

		if (s > 0 && s < 1)
			return x * sqrt(-2 * own_log(s) / s);
	}
}

double draw_lognormal(uint64_t *state, struct lognormal of)
{
	return own_exp(of.mu + of.sigma * draw_normal(state));
}

double draw_pareto(uint64_t *state, struct pareto of)
{
	return of.least * own_exp(-own_log(draw_share(state)) / of.alpha);
}

double draw_weibull(uint64_t *state, struct weibull of)
{
	return of.scale * own_exp(own_log(-own_log(draw_share(state))) / of.shape);
}

/* Its density is the share of times that are longer, over the mean: even up to the least time, and
 * Pareto with an alpha smaller by 1 above. */
double draw_pareto_rest(uint64_t *state, struct pareto of)
{
	double share = draw_share(state), even = (of.alpha - 1) / of.alpha;

	if (share < even)
		return of.least * share / even;
	return draw_pareto(state, (struct pareto){ of.least, of.alpha - 1 });
}

uint32_t draw_geometric(uint64_t *state, double mean)
{
	if (mean <= 1)
		return 1;
	return 1 + (uint32_t)(own_log(draw_share(state)) / own_log(1 - 1 / mean));
}

uint32_t draw_below(uint64_t *state, uint32_t below)
{
	return (uint32_t)((random_next(state) >> 32) * below >> 32);
}
