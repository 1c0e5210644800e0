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

/* Ticks of 10 ms that the machine's processors were busy, and those of them in soft interrupts,
 * which the kernel finds by sampling, or exactly with CONFIG_IRQ_TIME_ACCOUNTING. Zeros: not
 * known. */
struct busy_ticks {
	uint64_t all, softirq;
};

static inline struct busy_ticks machine_busy_ticks(void)
{
	FILE             *file = fopen("/proc/stat", "re");
	uint64_t          user, nice, system, interrupt;
	struct busy_ticks ticks = { 0 };

	if (file && fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64, &user,
	                   &nice, &system, &interrupt, &ticks.softirq) == 5)
		ticks.all = user + nice + system + interrupt + ticks.softirq;
	if (file)
		fclose(file);
	return ticks;
}

#endif
