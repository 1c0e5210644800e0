/* clock.c -- the clock of POSIX. See ../clock.h. */
#include "../clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "timespec.h"

const char clock_name[] = "CLOCK_MONOTONIC";

static uint64_t read_clock(clockid_t clock, const char *failure)
{
	struct timespec now;

	if (clock_gettime(clock, &now)) {
		perror(failure);
		exit(1);
	}
	return timespec_ns(now);
}

uint64_t clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC, "steelyard: CLOCK_MONOTONIC");
}

uint64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME, "steelyard: CLOCK_REALTIME");
}
