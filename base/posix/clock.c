/* clock.c -- the clock of POSIX. See ../clock.h. */
#include "../clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "timespec.h"

const char clock_name[] = "CLOCK_MONOTONIC";

uint64_t clock_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now)) {
		perror("steelyard: CLOCK_MONOTONIC");
		exit(1);
	}
	return timespec_ns(now);
}
