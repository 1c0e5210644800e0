/* clock.c -- the clock of POSIX. See ../clock.h. */
#include "../clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../system.h"

const char clock_name[] = "CLOCK_MONOTONIC";

uint64_t clock_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now)) {
		perror("steelyard-load: CLOCK_MONOTONIC");
		exit(1);
	}
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
