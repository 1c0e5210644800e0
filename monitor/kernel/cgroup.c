/* cgroup.c -- see cgroup.h. */
#include "kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

enum { CGROUP2_MAGIC = 0x63677270, CGROUP1_MAGIC = 0x27e0eb };

/* The options of the file system with that device number, as mountinfo has them at the line's end. */
static int options_of(dev_t device, char *options, size_t room)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char  line[4096];
	int   found = 0;

	while (file && !found && fgets(line, sizeof line, file)) {
		unsigned int major_number, minor_number;
		char        *last = strrchr(line, ' ');

		if (!last || sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2)
			continue;
		if (makedev(major_number, minor_number) != device)
			continue;
		snprintf(options, room, ",%.*s,", (int)strcspn(last + 1, "\n"), last + 1);
		found = 1;
	}
	if (file)
		fclose(file);
	return found;
}

/* Version 1 has a hierarchy for each mount; /proc/self/cgroup numbers them: "4:cpu,cpuacct:/path". */
static int hierarchy_of(dev_t device)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char  options[4096], line[4096];
	int   found = -1;

	if (!options_of(device, options, sizeof options)) {
		if (file)
			fclose(file);
		return -1;
	}
	while (file && found < 0 && fgets(line, sizeof line, file)) {
		char *controllers = strchr(line, ':'), *end, wanted[260];

		if (!controllers || !(end = strpbrk(controllers + 1, ",:")) || end == controllers + 1)
			continue;
		snprintf(wanted, sizeof wanted, ",%.*s,", (int)(end - controllers - 1), controllers + 1);
		if (strstr(options, wanted))
			found = atoi(line);
	}
	if (file)
		fclose(file);
	return found;
}

int cgroup_find(const char *directory, struct cgroup_key *key, char *why, size_t why_room)
{
	struct stat   node;
	struct statfs system;

	if (stat(directory, &node) || statfs(directory, &system)) {
		snprintf(why, why_room, "control group '%s': %s", directory, strerror(errno));
		return -1;
	}
	key->id = node.st_ino;
	if (system.f_type == CGROUP2_MAGIC)
		key->hierarchy = 0;
	else if (system.f_type != CGROUP1_MAGIC || (key->hierarchy = hierarchy_of(node.st_dev)) < 0) {
		snprintf(why, why_room, "control group '%s': it is no directory of a control group", directory);
		return -1;
	}
	return 0;
}

struct members {
	pid_t *list;
	size_t count, room;
};

static void add_member(struct members *members, pid_t pid)
{
	if (members->count == members->room) {
		members->room = members->room ? 2 * members->room : 64;
		members->list = realloc(members->list, members->room * sizeof *members->list);
		if (!members->list)
			abort();
	}
	members->list[members->count++] = pid;
}

static void add_members(const char *directory, struct members *members)
{
	char           path[PATH_MAX];
	int            pid;
	FILE          *file;
	DIR           *below;
	struct dirent *entry;

	snprintf(path, sizeof path, "%s/cgroup.procs", directory);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		add_member(members, (pid_t)pid);
	if (file)
		fclose(file);
	below = opendir(directory);
	while (below && (entry = readdir(below))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path)
			add_members(path, members);
	}
	if (below)
		closedir(below);
}

size_t cgroup_members(const char *directory, pid_t **members)
{
	struct members found = { 0 };

	add_members(directory, &found);
	*members = found.list;
	return found.count;
}
