/* descendants.h -- all that descends from a process, in sessions and groups of its own too. Linux
 * only.
 *
 * A process that is a subreaper (prctl(2)) inherits every orphan below it, so none can hide by a
 * double fork.
 */
#ifndef STEELYARD_API_DESCENDANTS_H
#define STEELYARD_API_DESCENDANTS_H

#include <sys/types.h>

/* Calls `each` for every process that descends from `top`; not for that one. */
void descendants_each(pid_t top, void (*each)(pid_t pid, void *context), void *context);

/* Kills what descends from this process, and waits for it, until nothing does or it takes too
 * long. */
void descendants_end(void);

#endif
