/* arrivals.h -- random numbers by seed, and the times between events. */
#ifndef STEELYARD_ARRIVALS_H
#define STEELYARD_ARRIVALS_H

#include <stdint.h>

#include "client.h"

/* splitmix64 (Steele, Lea and Flood 2014): the same seed gives the same load on every system. */
uint64_t random_next(uint64_t *state);
/* From 0 up to, and without, 1. */
double   random_share(uint64_t *state);
/* A time with that mean: always the same, or exponential as between the arrivals of a Poisson process. */
uint64_t random_time(uint64_t *state, double mean_ns, enum spread spread);

#endif
