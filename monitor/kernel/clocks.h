/* clocks.h -- the kernel's own clocks, whatever time namespace we are in.
 *
 * What the kernel writes down itself (BPF, perf, the proc connector, beginnings of processes) is in
 * the clocks of the first time namespace. clock_gettime and /proc/PID/stat show those of the
 * reader's namespace, which may be days ahead or behind. Every moment in the monitor is one of the
 * kernel's CLOCK_BOOTTIME.
 */
#ifndef STEELYARD_CLOCKS_H
#define STEELYARD_CLOCKS_H

#include <stdint.h>

/* The kernel's CLOCK_BOOTTIME now. monitor.h declares it too. */
uint64_t boottime_ns(void);
/* What to add to a moment of the kernel's CLOCK_MONOTONIC for that of its CLOCK_BOOTTIME: the time
 * spent suspended so far, which grows with each suspension. */
int64_t clocks_suspended_ns(void);
/* A moment of our namespace's CLOCK_BOOTTIME as one of the kernel's; 0 if it lies before the
 * kernel's beginning. */
uint64_t clocks_of_kernel(uint64_t ours_ns);

#endif
