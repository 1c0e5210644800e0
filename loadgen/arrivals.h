/* arrivals.h -- the times between events, by seed. */
#ifndef STEELYARD_ARRIVALS_H
#define STEELYARD_ARRIVALS_H

#include <stdint.h>

#include "client.h"

/* A time with that mean: always the same, or exponential as between the arrivals of a Poisson
 * process. */
uint64_t random_time(uint64_t *state, double mean_ns, enum spread spread);

#endif
