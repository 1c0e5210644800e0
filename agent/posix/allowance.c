/* allowance.c -- see allowance.h. Where control groups are not mounted, or none are, nothing is
 * limited. */
#include "allowance.h"

#ifdef __linux__
#include <limits.h>
#include <stdio.h>
#include <string.h>

static uint64_t least(const char *path, uint64_t bytes)
{
	FILE              *file = fopen(path, "r");
	unsigned long long limit;

	if (file) {
		if (fscanf(file, "%llu", &limit) == 1 && limit < bytes) /* "max" is no number */
			bytes = limit;
		fclose(file);
	}
	return bytes;
}

/* From the group up to the root. In a container the group's name may be one of the host's, and what
 * is mounted is the container's own: its root is looked at as well. */
static uint64_t climb(const char *root, char *group, const char *name, uint64_t bytes)
{
	char path[2 * PATH_MAX];

	for (;;) {
		char *slash = strrchr(group, '/');

		snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
		bytes = least(path, bytes);
		if (!slash)
			return bytes;
		*slash = 0;
	}
}

/* Whether "a,memory,b" names memory. */
static int is_memory(const char *controllers)
{
	size_t length = strlen("memory");

	for (const char *at = controllers; (at = strstr(at, "memory")); at += length)
		if ((at == controllers || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
			return 1;
	return 0;
}

uint64_t allowance_memory(uint64_t bytes)
{
	char  line[PATH_MAX + 256];
	FILE *groups = fopen("/proc/self/cgroup", "r");

	while (groups && fgets(line, sizeof(line), groups)) { /* NUMBER:CONTROLLERS:GROUP */
		char *controllers = strchr(line, ':'), *group;

		line[strcspn(line, "\n")] = 0;
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		if (is_memory(controllers + 1)) {
			bytes = climb("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
			              bytes);
		} else if (controllers[1] == 0) {
			char again[PATH_MAX];

			snprintf(again, sizeof(again), "%s", group);
			bytes = climb("/sys/fs/cgroup", again, "memory.max", bytes);
			bytes = climb("/sys/fs/cgroup/unified", group, "memory.max", bytes);
		}
	}
	if (groups)
		fclose(groups);
	return bytes;
}

#else

uint64_t allowance_memory(uint64_t bytes)
{
	return bytes;
}

#endif
