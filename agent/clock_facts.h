/* clock_facts.h -- what reading the clock costs, from which all durations come. */
#ifndef STEELYARD_CLOCK_FACTS_H
#define STEELYARD_CLOCK_FACTS_H

#include <stdint.h>

struct clock_facts {
	uint64_t resolution_ns; /* as seen, not as the system claims; see clock_measure */
	uint64_t cost_ns;       /* of one reading */
};

/* The resolution is the smallest step between two readings. Where no two readings were the same, a
 * step is as long as a reading takes; then it is the smallest difference of neighbouring steps.
 * Takes 4000 readings, about 0.1 ms, and fewer of a clock that is slow to read: some 5 ms. Every
 * trial begins with it. */
struct clock_facts clock_measure(void);

#endif
