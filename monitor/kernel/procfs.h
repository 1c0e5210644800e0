/* procfs.h -- what the files in /proc say of a process or a thread, as numbers.
 *
 * Every function takes a directory that procfs_open gave: it stays that process's own, and reads
 * nothing more once the process is reaped, even if another one has its number. All return 0, or -1
 * if it cannot be read (the process has gone, or is not ours to read), with nothing written.
 */
#ifndef STEELYARD_PROCFS_H
#define STEELYARD_PROCFS_H

#include <stdio.h>

#include "monitor.h"

/* From now on all of this is read below that directory, in place of /proc: for tests. It must stay
 * there. */
void procfs_use(const char *directory);
/* Whether the numbers in it are those that we know: /proc may show another namespace of processes
 * than ours, as after unshare --pid without --mount-proc, and a number there is then another
 * process. -1: a sentence in `why`. */
int procfs_check(char *why, size_t why_room);
/* A file of /proc that is no process's, to read; NULL with errno. The caller closes it. */
FILE *procfs_file(const char *name);

struct procfs_status {
	pid_t    group, parent, tracer; /* tracer: 0 for none */
	uint64_t ignored, caught;       /* signals, bit 0 for signal 1 */
};

struct procfs_stat {
	char     state;
	pid_t    parent;
	uint64_t begin_ns; /* to a clock tick, as all times here are */
	uint64_t threads;
	uint64_t children_faults_minor; /* of those children that it has waited for */
};

/* Of the thread, or with thread 0 of the process. -1 if there is none. The caller closes it. */
int procfs_open(pid_t pid, pid_t thread);
int procfs_program(int directory, char program[16]);
/* Fills the levels of memory, unless the process is a zombie, and the *thread's* switches. `figure`
 * may be NULL. */
int procfs_status(int directory, struct procfs_status *status, uint64_t figure[FIGURES]);
/* Fills faults, and processor time in coarser ticks, of the process or the thread. `figure` may be
 * NULL. */
int procfs_stat(int directory, struct procfs_stat *stat, uint64_t figure[FIGURES]);
/* The same of the thread, or with thread 0 of the process, without a directory; -1 if there is
 * none. */
int procfs_stat_of(pid_t pid, pid_t thread, struct procfs_stat *stat);
int procfs_status_of(pid_t pid, struct procfs_status *status);
/* Whether there is a process of that number which /proc does not show to us: as with the mount's
 * option hidepid, of another user's. */
int procfs_hides(pid_t pid);
/* Of a process. A first thread may have ended before the others: then it waits for them as a
 * zombie. */
static inline int procfs_has_ended(const struct procfs_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}
/* The thread's run_ns and wait_ns; of a process's directory those of its first thread. */
int procfs_schedstat(int directory, uint64_t figure[FIGURES]);
/* The thread's input and output. Of a process's directory the kernel adds what its ended children
 * did. */
int procfs_io(int directory, uint64_t figure[FIGURES]);

/* The processor time of a whole process, ended threads included, in ticks, and exactly; of a zombie
 * too. By its number, not by a directory. */
int procfs_clocks(pid_t pid, uint64_t figure[FIGURES]);
/* All figures of kind TOTAL of a process, by number and directory: that its directory, opened
 * before, can still be read shows that the number was its own. */
int procfs_totals(pid_t pid, int directory, struct procfs_stat *stat, uint64_t figure[FIGURES]);

/* Calls `each` for every process there is, every thread, or every child of any thread. */
void procfs_processes(void (*each)(pid_t pid, void *context), void *context);
void procfs_threads(pid_t pid, void (*each)(pid_t thread, void *context), void *context);
void procfs_children(pid_t pid, void (*each)(pid_t child, void *context), void *context);

#endif
