/* processor_time.h -- what this process and the whole machine have used, for workloads that report
 * it beside their time. POSIX only. */
#ifndef STEELYARD_API_PROCESSOR_TIME_H
#define STEELYARD_API_PROCESSOR_TIME_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/posix/timespec.h"

/* What this process has used, with all its threads. Ends it where there is no such clock. */
static inline uint64_t own_processor_ns(void)
{
	struct timespec sum;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &sum)) {
		perror("steelyard: CLOCK_PROCESS_CPUTIME_ID");
		exit(1);
	}
	return timespec_ns(sum);
}

/* The time in which this machine's processors were neither idle nor taken away by its host; and
 * the same in ticks of 10 ms, with those in soft interrupts, which the kernel finds by sampling, or
 * exactly with CONFIG_IRQ_TIME_ACCOUNTING. Only differences mean anything. Zeros: not known, as in
 * gVisor. */
struct machine_busy {
	uint64_t ns, ticks, softirq_ticks;
};

/* Linux counts idle time exactly, where it finds busy time by ticks, and tells both in ticks. */
static inline struct machine_busy machine_busy(void)
{
	FILE               *file = fopen("/proc/stat", "re");
	char                line[1024];
	long                ticks = sysconf(_SC_CLK_TCK);
	uint64_t            user, nice, system, idle, waiting, interrupt, soft, stolen;
	uint64_t            all = 0, idle_ns = 0, processors = 0;
	struct machine_busy busy = { 0 };

	while (file && ticks > 0 && fgets(line, sizeof(line), file)) {
		/* The first line is the sum of all; scanf would take its first figure for a
		 * number. */
		if (strncmp(line, "cpu", 3) || line[3] < '0' || line[3] > '9')
			continue;
		interrupt = soft = stolen = 0; /* older kernels do not tell them */
		if (sscanf(line,
		           "cpu%*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		           " %" SCNu64 " %" SCNu64 " %" SCNu64,
		           &user, &nice, &system, &idle, &waiting, &interrupt, &soft, &stolen) < 5)
			continue;
		all += user + nice + system + idle + waiting;
		idle_ns += (idle + waiting + stolen) * (1000000000u / (uint64_t)ticks);
		busy.ticks += user + nice + system + interrupt + soft;
		busy.softirq_ticks += soft;
		processors++;
	}
	if (file)
		fclose(file);
	if (all)
		busy.ns = clock_ns() * processors - idle_ns;
	return busy;
}

#endif
