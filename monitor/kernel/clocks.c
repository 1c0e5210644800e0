/* clocks.c -- see clocks.h. */
#include "kernel/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/posix/timespec.h"
#include "kernel/procfs.h"

#define FIRST_TIME_NAMESPACE 0xeffffffau /* PROC_TIME_INIT_INO */

static struct {
	int     is_read;
	int64_t monotonic_ns, boottime_ns; /* our namespace's clocks less the kernel's */
} offsets;

static void read_offsets(void)
{
	struct stat ours;
	FILE       *file = NULL;
	char        name[16];
	long long   seconds, ns;

	offsets.is_read = 1;
	/* The file has the offsets of the namespace of our children. That is our own, but where a
	 * caller has unshared it and an old kernel did not move us there: then we are in the first
	 * one. */
	if (stat("/proc/self/ns/time", &ours) || ours.st_ino != FIRST_TIME_NAMESPACE)
		file = procfs_file("self/timens_offsets");
	while (file && fscanf(file, "%15s %lld %lld", name, &seconds, &ns) == 3) {
		int64_t offset = seconds * 1000000000 + ns;

		if (!strcmp(name, "monotonic"))
			offsets.monotonic_ns = offset;
		else if (!strcmp(name, "boottime"))
			offsets.boottime_ns = offset;
	}
	if (file)
		fclose(file);
}

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	if (!offsets.is_read)
		read_offsets();
	if (clock_gettime(clock, &now)) {
		perror("steelyard-watch: the clock cannot be read");
		exit(1);
	}
	return (int64_t)timespec_ns(now) -
	       (clock == CLOCK_MONOTONIC ? offsets.monotonic_ns : offsets.boottime_ns);
}

uint64_t boottime_ns(void)
{
	return (uint64_t)read_clock(CLOCK_BOOTTIME);
}

int64_t clocks_suspended_ns(void)
{
	int64_t boottime = read_clock(CLOCK_BOOTTIME);

	return boottime - read_clock(CLOCK_MONOTONIC);
}

uint64_t clocks_of_kernel(uint64_t ours_ns)
{
	int64_t kernel_ns;

	if (!offsets.is_read)
		read_offsets();
	kernel_ns = (int64_t)ours_ns - offsets.boottime_ns;
	return kernel_ns > 0 ? (uint64_t)kernel_ns : 0;
}
