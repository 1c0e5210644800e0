/* meters.h -- what processes have cost by their files in /proc, thread by thread, where nothing
 * better is available.
 *
 * Who is watched, and when to read, is the caller's; the sums are here. The kernel keeps figures of
 * kind THREADS by thread, and a process's own files have its first thread's, or add those of
 * children it has waited for: so each thread is read, and an ended one counts as it was last read.
 * Figures of kind TOTAL are the process's own, ended threads included.
 */
#ifndef STEELYARD_METERS_H
#define STEELYARD_METERS_H

#include "monitor.h"

struct thread_meter {
	struct thread_meter *next; /* of its process */
	struct meter        *process;
	pid_t                thread;
	struct process       record; /* its own; signals and calls are the caller's to count */
	uint64_t             first[FIGURES]; /* what it had cost when it began to be watched */
	uint64_t             last[FIGURES];
	uint64_t             our_switches; /* voluntary ones that are our doing */
	int                  has_old_io;   /* it may not be read any more */
};

struct meter {
	struct meter        *next, *previous; /* in the order in which they came */
	struct meter        *chain;
	struct process       record;
	struct process       before; /* as the last reading had it */
	int                  was_read;
	struct thread_meter *threads;
	uint64_t             ended[FIGURES]; /* of threads that have ended */
	int                  ended_has_old_io;
	uint64_t first[FIGURES]; /* what the process had cost when it began to be watched */
	int      has_begun;      /* not the command before its exec */
	int      is_unfollowed;  /* it is in no record and no sum */
	int      is_hidden;      /* once it could not be read */
};

/* All that there are now. */
extern struct meter *meters_first;

/* Each may be the beginning of a struct of that size, which is zero otherwise. */
void meters_open(const struct order *order, size_t size, size_t thread_size);
struct meter *meter_find(pid_t pid);
/* A new one, with no thread yet. `parent` may be NULL: it was named, or is the command. */
struct meter *meter_add(pid_t pid, const struct meter *parent, uint64_t begin_ns);
struct thread_meter *meter_add_thread(struct meter *process, pid_t thread, uint64_t begin_ns);
/* From now on its figures count. What it has cost until now does not, unless it `is_new`: then that
 * is its own. */
void meter_begin(struct meter *process, uint64_t now, int is_new);
void meter_begin_thread(struct thread_meter *thread, uint64_t now, int is_new);
/* Its program has just begun: name and memory are another's now. */
void meter_exec(struct meter *process);
/* Reads what a thread has cost by now. -1: it has gone. */
int meter_read_thread(struct thread_meter *thread);
/* It has not run since it was read: only the time that it was blocked for has grown. */
void meter_age(struct meter *process, uint64_t now);
/* The same of a process and each of its threads, into its record. -1: it has gone, and the record
 * is as it was. */
int meter_read(struct meter *process, uint64_t now);
void meter_write_reading(struct meter *process, uint64_t now);
/* It can no longer be read, though it runs on: what is known of it is a lower bound. */
void meter_hide(struct meter *process);
/* Takes it out; it counts from now on as it was last read. Writes its record if threads are to
 * be. */
void meter_end_thread(struct thread_meter *thread, uint64_t end_ns, int status);
/* Writes its record as it was last read, and forgets it. */
void meter_end(struct meter *process, uint64_t end_ns, int status);
/* Of all until now: see the backend's total. */
uint64_t meters_total(struct process *total);

#endif
