/* sweep.h -- the sizes of a workload that is a curve. */
#ifndef STEELYARD_SWEEP_H
#define STEELYARD_SWEEP_H

#include "../workloads/api/workload.h"

enum { POINTS_MOST = 512 };

/* Writes the sizes, smallest first: from..to, `steps` to a doubling, multiples of the grain, each
 * once. Returns how many, or -1 with a sentence in `why` if that is nothing or more than
 * POINTS_MOST, or more than this system's memory allows. */
int sweep_points(const struct sweep *sweep, uint64_t points[POINTS_MOST], char *why,
                 size_t why_room);

/* Puts them into the random order that follows from `seed`. */
void sweep_shuffle(uint64_t points[], int count, uint64_t seed);

/* Fills in the parameters "from", "to" and "steps" that come with a sweep; the last name is
 * NULL. */
void sweep_parameters(struct sweep *sweep, struct parameter parameters[4]);

#endif
