/* cgroup.c -- see cgroup.h. */
#include "kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "procfs.h"

/* Of the file system with that device number: its type, and its options between commas. mountinfo
 * has both behind a line's " - ". */
struct mounted {
	char type[32], options[4096];
};

static int find_mounted(dev_t device, struct mounted *mounted)
{
	FILE *file = procfs_file("self/mountinfo");
	char  line[4096];
	int   found = 0;

	while (file && !found && fgets(line, sizeof line, file)) {
		unsigned int major_number, minor_number;
		const char  *behind = strstr(line, " - ");

		if (!behind || sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2 ||
		    makedev(major_number, minor_number) != device)
			continue;
		strcpy(mounted->options, ",");
		found = sscanf(behind, " - %31s %*s %4093s", mounted->type, mounted->options + 1) ==
		        2;
		strcat(mounted->options, ",");
	}
	if (file)
		fclose(file);
	return found ? 0 : -1;
}

/* Version 1 has a hierarchy for each mount; /proc/self/cgroup numbers them:
 * "4:cpu,cpuacct:/path". */
static int hierarchy_of(const struct mounted *mounted)
{
	FILE *file = procfs_file("self/cgroup");
	char  line[4096];
	int   found = -1;

	while (file && found < 0 && fgets(line, sizeof line, file)) {
		char *controllers = strchr(line, ':'), *end, wanted[260];

		if (!controllers || !(end = strpbrk(controllers + 1, ",:")) ||
		    end == controllers + 1)
			continue;
		snprintf(wanted, sizeof wanted, ",%.*s,", (int)(end - controllers - 1),
		         controllers + 1);
		if (strstr(mounted->options, wanted))
			found = atoi(line);
	}
	if (file)
		fclose(file);
	return found;
}

int cgroup_find(const char *directory, struct cgroup_key *key, char *why, size_t why_room)
{
	struct stat    node;
	struct mounted mounted;

	if (stat(directory, &node)) {
		snprintf(why, why_room, "control group '%s': %s", directory, strerror(errno));
		return -1;
	}
	key->id = node.st_ino;
	key->hierarchy = -1;
	if (!find_mounted(node.st_dev, &mounted)) {
		if (!strcmp(mounted.type, "cgroup2"))
			key->hierarchy = 0;
		else if (!strcmp(mounted.type, "cgroup"))
			key->hierarchy = hierarchy_of(&mounted);
	}
	if (key->hierarchy >= 0)
		return 0;
	snprintf(why, why_room, "control group '%s': it is no directory of a control group",
	         directory);
	return -1;
}

struct members {
	pid_t *list;
	size_t count, room;
};

static void add_members(const char *directory, struct members *members)
{
	char           path[PATH_MAX];
	int            pid;
	FILE          *file;
	DIR           *below;
	struct dirent *entry;

	snprintf(path, sizeof path, "%s/cgroup.procs", directory);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		if (!pid) /* of another namespace of processes than ours, which has no number for
		             it */
			continue;
		members->list = list_grow(members->list, members->count, &members->room,
		                          sizeof *members->list);
		members->list[members->count++] = (pid_t)pid;
	}
	if (file)
		fclose(file);
	below = opendir(directory);
	while (below && (entry = readdir(below))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) <
		    (int)sizeof path)
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
