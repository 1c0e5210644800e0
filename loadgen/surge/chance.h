/* chance.h -- draws from the distributions of the SURGE model; the same numbers from the same seed
 * on every system. */
#ifndef STEELYARD_SURGE_CHANCE_H
#define STEELYARD_SURGE_CHANCE_H

#include <stdint.h>

struct lognormal {
	double mu, sigma;
};
struct pareto {
	double least, alpha;
};
struct weibull {
	double scale, shape;
};

double draw_lognormal(uint64_t *state, struct lognormal of);
double draw_pareto(uint64_t *state, struct pareto of);
double draw_weibull(uint64_t *state, struct weibull of);
/* How much of a Pareto time is still left at a moment that knows nothing of it. */
double draw_pareto_rest(uint64_t *state, struct pareto of);
/* 1, 2, ... with that mean. */
uint32_t draw_geometric(uint64_t *state, double mean);
/* From 0 to `below` - 1. */
uint32_t draw_below(uint64_t *state, uint32_t below);

#endif
