/* seen.h -- processes as /proc shows them, and their threads: for the backends that have nothing better.
 *
 * Who is seen, and when to look, is the backend's; the sums are here. The kernel keeps waiting time, switches,
 * input and output by thread, and a process's own files have its first thread's, or add those of children it
 * has waited for: so each thread is read, and an ended one counts as it was last read. Processor time and faults
 * are the process's own, ended threads included.
 */
#ifndef STEELYARD_SEEN_H
#define STEELYARD_SEEN_H

#include "monitor.h"
#include "kernel/procfs.h"

struct meter;

struct thread_meter {
	struct thread_meter *next;           /* of its process */
	struct meter        *process;
	pid_t               thread;
	struct process      record;         /* its own; signals and calls are the backend's to count */
	uint64_t            first[FIGURES]; /* what it had cost when it began to be watched */
	uint64_t            last[FIGURES];
	uint64_t            our_switches;   /* voluntary ones that are our doing */
	int                 is_there;       /* the backend's */
};

struct meter {
	struct meter        *next, *previous; /* in the order they were seen */
	struct meter        *chain;
	struct process      record;
	struct process      before;          /* as the last reading had it */
	int                 was_read;
	struct thread_meter *threads;
	uint64_t            ended[FIGURES];  /* of threads that have ended */
	struct procfs_clocks first_clocks;
	uint64_t            first_faults_minor, first_faults_major;
	int                 has_begun;       /* not the command before its exec */
	/* The backend's own. */
	int                 directory;       /* -1 */
	uint64_t            run_ns;          /* its clock at the last look */
	uint64_t            children;        /* that were seen */
	uint64_t            children_faults; /* of those of them that have ended, and of theirs */
	int                 is_unfollowed, is_zombie, has_lost_child;
};

/* All that are seen now. */
extern struct meter *meters_first;

void meters_open(const struct order *order);
struct meter *meter_find(pid_t pid);
/* A new one, with no thread yet. `parent` may be NULL: it was named, or is the command. */
struct meter *meter_add(pid_t pid, const struct meter *parent, uint64_t begin_ns);
struct thread_meter *meter_add_thread(struct meter *process, pid_t thread, uint64_t begin_ns, size_t size);
/* From now on its figures count. What it has cost until now does not, unless it `is_new`: then that is its own. */
void meter_begin(struct meter *process, uint64_t now, int is_new);
void meter_begin_thread(struct thread_meter *thread, uint64_t now, int is_new);
/* Its program has just begun: name and memory are another's now. */
void meter_exec(struct meter *process);
/* Reads what a thread has cost by now. -1: it has gone. */
int meter_read_thread(struct thread_meter *thread);
/* The same of a process and each of its threads, into its record. -1: it has gone, and the record is as it was. */
int meter_read(struct meter *process, uint64_t now);
void meter_write_reading(struct meter *process, uint64_t now);
/* Takes it out; it counts from now on as it was last looked at. Writes its record if threads are to be. */
void meter_end_thread(struct thread_meter *thread, uint64_t end_ns, int status);
/* Writes its record as it was last looked at, and forgets it. */
void meter_end(struct meter *process, uint64_t end_ns, int status);
/* Of all seen until now: see the backend's total. */
uint64_t meters_total(struct process *total);

#endif
