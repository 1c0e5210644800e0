/* cgroup.h -- a control group's directory: which one it is to the kernel, and who is in it. */
#ifndef STEELYARD_CGROUP_H
#define STEELYARD_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_key {
	uint64_t id;
	int      hierarchy; /* 0: of version 2 */
};

/* Returns 0, or -1 with a sentence in `why`. */
int cgroup_find(const char *directory, struct cgroup_key *key, char *why, size_t why_room);
/* The processes in it and in the groups below. *members is the caller's to free. Returns how
 * many. */
size_t cgroup_members(const char *directory, pid_t **members);

#endif
