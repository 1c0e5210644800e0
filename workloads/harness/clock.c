/* clock.c -- see clock.h. */
#include "clock.h"

enum { READINGS = 2000 };

struct clock_facts clock_measure(void)
{
	struct clock_facts facts = { .resolution_ns = UINT64_MAX };
	uint64_t           first = clock_ns(), last = first;

	for (int i = 0; i < READINGS; i++) {
		uint64_t now = clock_ns(), step = now - last;

		if (step && step < facts.resolution_ns)
			facts.resolution_ns = step;
		last = now;
	}
	/* A clock that ticks more slowly than 2000 readings take: wait for its next tick. */
	while (facts.resolution_ns == UINT64_MAX) {
		uint64_t now = clock_ns();

		if (now != last)
			facts.resolution_ns = now - last;
	}
	first = clock_ns();
	for (int i = 1; i < READINGS; i++)
		last = clock_ns();
	facts.cost_ns = (last - first) / READINGS;
	return facts;
}
