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
#include "procfs.h"

struct seen;

struct seen_thread {
	struct seen_thread *next;           /* of its process */
	struct seen        *process;
	pid_t               thread;
	struct process      record;         /* its own; signals and calls are the backend's to count */
	uint64_t            first[FIGURES]; /* what it had cost when it began to be watched */
	uint64_t            last[FIGURES];
	uint64_t            our_switches;   /* voluntary ones that are our doing */
	int                 is_there;       /* the backend's */
};

struct seen {
	struct seen        *next, *previous; /* in the order they were seen */
	struct seen        *chain;
	struct process      record;
	struct process      before;          /* as the last reading had it */
	int                 was_read;
	struct seen_thread *threads;
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
extern struct seen *seen_first;

void seen_open(const struct order *order);
struct seen *seen_find(pid_t pid);
/* A new one, with no thread yet. `parent` may be NULL: it was named, or is the command. */
struct seen *seen_process(pid_t pid, const struct seen *parent, uint64_t begin_ns);
struct seen_thread *seen_thread(struct seen *process, pid_t thread, uint64_t begin_ns, size_t size);
/* From now on its figures count. What it has cost until now does not, unless it `is_new`: then that is its own. */
void seen_begin(struct seen *process, uint64_t now, int is_new);
void seen_begin_thread(struct seen_thread *thread, uint64_t now, int is_new);
/* Its program has just begun: name and memory are another's now. */
void seen_exec(struct seen *process);
/* Reads what a thread has cost by now. -1: it has gone. */
int seen_look_thread(struct seen_thread *thread);
/* The same of a process and each of its threads, into its record. -1: it has gone, and the record is as it was. */
int seen_look(struct seen *process, uint64_t now);
void seen_read(struct seen *process, uint64_t now);
/* Takes it out; it counts from now on as it was last looked at. Writes its record if threads are to be. */
void seen_end_thread(struct seen_thread *thread, uint64_t end_ns, int status);
/* Writes its record as it was last looked at, and forgets it. */
void seen_end(struct seen *process, uint64_t end_ns, int status);
/* Of all seen until now: see the backend's total. */
uint64_t seen_total(struct process *total);

#endif
