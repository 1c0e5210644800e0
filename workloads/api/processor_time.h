/* processor_time.h -- what this process and the whole machine have used, for workloads that report
 * it beside their time. POSIX only. */
#ifndef STEELYARD_API_PROCESSOR_TIME_H
#define STEELYARD_API_PROCESSOR_TIME_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

/* What this process has used, with all its threads. */
static inline uint64_t own_processor_ns(void)
{
	struct timespec sum;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &sum);
	return (uint64_t)sum.tv_sec * 1000000000u + (uint64_t)sum.tv_nsec;
}

/* The time in which this machine's processors were neither idle nor taken away by its host: only
 * differences of it mean anything. Linux counts idle time exactly, where it finds busy time by
 * ticks, and tells both in ticks of 10 ms. 0: not known, as in gVisor. */
static inline uint64_t machine_busy_ns(void)
{
	FILE    *file = fopen("/proc/stat", "re");
	char     line[1024];
	long     ticks = sysconf(_SC_CLK_TCK);
	uint64_t user, nice, system, idle, waiting, stolen, all = 0, idle_ns = 0, processors = 0;

	while (file && ticks > 0 && fgets(line, sizeof(line), file)) {
		/* The first line is the sum of all; scanf would take its first figure for a number. */
		if (strncmp(line, "cpu", 3) || line[3] < '0' || line[3] > '9')
			continue;
		stolen = 0; /* older kernels do not tell it */
		if (sscanf(line, "cpu%*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
		           &user, &nice, &system, &idle, &waiting, &stolen) < 5)
			continue;
		all += user + nice + system + idle + waiting;
		idle_ns += (idle + waiting + stolen) * (1000000000u / (uint64_t)ticks);
		processors++;
	}
	if (file)
		fclose(file);
	return all ? clock_ns() * processors - idle_ns : 0;
}

#endif
