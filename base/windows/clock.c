/* clock.c -- the clock of Windows. See ../clock.h. */
#include "../clock.h"

#include <stdio.h>
#include <stdlib.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

const char clock_name[] = "QueryPerformanceCounter";

/* The whole seconds apart, so that no product outgrows 64 bits: the counter's frequency is often 10
 * MHz, and may be the processor's own. */
uint64_t clock_ns(void)
{
	static uint64_t frequency;
	LARGE_INTEGER   now;

	if (!frequency) {
		if (!QueryPerformanceFrequency(&now) || now.QuadPart <= 0) {
			fprintf(stderr, "steelyard: there is no QueryPerformanceCounter\n");
			exit(1);
		}
		frequency = (uint64_t)now.QuadPart;
	}
	QueryPerformanceCounter(&now);
	return (uint64_t)now.QuadPart / frequency * 1000000000u +
	       (uint64_t)now.QuadPart % frequency * 1000000000u / frequency;
}
