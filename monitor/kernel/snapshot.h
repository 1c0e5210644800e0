/* snapshot.h -- what /proc says of a live process at one moment, and of who is whose child. */
#ifndef STEELYARD_SNAPSHOT_H
#define STEELYARD_SNAPSHOT_H

#include <stddef.h>

#include "monitor.h"

/* Parent, program, threads, begin_ns, and those figures that a process's own files have in total:
 * processor time, faults, memory. (Not its input and output: the kernel adds to a process's own
 * what the children that it has waited for did.) Others are left alone. Returns -1 if it has
 * ended. */
int snapshot_of(pid_t pid, struct process *process);
/* Its threads. Returns how many, at most `most`; 0: it has ended. */
size_t snapshot_threads(pid_t pid, pid_t threads[], size_t most);

struct kin {
	pid_t    pid, parent;
	uint32_t generation;
};
/* These processes and all that descend from them, parents before children. *kin is the caller's to
 * free. */
size_t snapshot_descendants(const pid_t pids[], size_t count, struct kin **kin);

#endif
