/* clock.h -- what reading the clock costs, from which all durations come. */
#ifndef STEELYARD_CLOCK_H
#define STEELYARD_CLOCK_H

#include <stdint.h>

#include "../api/system.h"

struct clock_facts {
	uint64_t resolution_ns; /* the smallest step seen, not the one the system claims */
	uint64_t cost_ns;       /* of one reading */
};

/* Takes some 4000 readings: about 0.1 ms where the clock needs no system call, 0.2 s where it needs
 * a slow one. */
struct clock_facts clock_measure(void);

#endif
