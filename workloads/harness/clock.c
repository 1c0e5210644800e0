/* clock.c -- see clock.h. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READINGS = 2000 };

uint64_t clock_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now)) {
		perror("steelyard-load: " CLOCK_NAME);
		exit(1);
	}
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
