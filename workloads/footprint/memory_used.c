/* memory_used -- how much memory is in use on this system.
 *
 * Measures     MemTotal less MemAvailable of /proc/meminfo, once a trial: what the kernel and all
 *              processes hold that it cannot get back at once. On a system that is booted for the
 *              comparison that is what it takes after its start.
 * Leaves out   files in the cache, which make room when somebody needs it. What a sandbox or a
 *              machine's emulator takes of the host beside what its guest sees.
 * Beware       the load program and its agent are in it, some MB. A system that runs for other
 *              purposes too (this machine, a host by ssh) is measured with all that runs there. A
 *              container and a tuned system see the memory of their host's kernel.
 * After        Korunić (SRCE, 2003), who read it as Debian had started with its usual services: 42
 *              MB.
 */
#include <stdio.h>
#include <string.h>

#include "../api/workload.h"

static uint64_t used_kb;

/* The number of kB in a line "NAME:  NUMBER kB". Returns whether the line is that one. */
static int read_line(const char *line, const char *name, uint64_t *kb)
{
	size_t             length = strlen(name);
	unsigned long long found;

	if (strncmp(line, name, length) || line[length] != ':' ||
	    sscanf(line + length + 1, "%llu", &found) != 1)
		return 0;
	*kb = found;
	return 1;
}

static int run(uint64_t operations)
{
	FILE    *file = fopen("/proc/meminfo", "re");
	char     line[256];
	uint64_t total = 0, available = 0;
	int      known = 0;

	(void)operations; /* one reading */
	if (!file)
		return unsupported("this system has no /proc/meminfo");
	while (fgets(line, sizeof(line), file))
		known += read_line(line, "MemTotal", &total) +
		         read_line(line, "MemAvailable", &available);
	fclose(file);
	if (known != 2)
		return unsupported("/proc/meminfo does not say what is available");
	if (available > total)
		return fail_check("%llu kB are available of %llu", (unsigned long long)available,
		                  (unsigned long long)total);
	used_kb = total - available;
	return 0;
}

const struct workload workload_memory_used = {
	.name = "memory_used",
	.group = "footprint",
	.summary = "how much memory is in use on this system",
	.operation = "reading",
	.run = run,
	.performances = 1,
	.count = &used_kb,
	.counts = "kB",
	.fewer = 1,
};
