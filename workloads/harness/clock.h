/* clock.h -- the one clock that durations come from, and what reading it costs. */
#ifndef STEELYARD_CLOCK_H
#define STEELYARD_CLOCK_H

#include <stdint.h>

/* Nanoseconds since a moment that is fixed while the system is up. Ends the process if there is no
 * such clock: nothing can be measured then. */
uint64_t clock_ns(void);

struct clock_facts {
	uint64_t resolution_ns; /* the smallest step seen, not the one the system claims */
	uint64_t cost_ns;       /* of one reading */
};

/* Takes some 4000 readings: about 0.1 ms where the clock needs no system call, 0.2 s where it needs
 * a slow one. */
struct clock_facts clock_measure(void);

#endif
