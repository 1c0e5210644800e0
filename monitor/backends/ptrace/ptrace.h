/* ptrace.h -- what the parts of this backend share: tracees, and the counts of them all. */
#ifndef STEELYARD_PTRACE_H
#define STEELYARD_PTRACE_H

#include <signal.h>

#include "follow/meters.h"
#include "kernel/procfs.h"
#include "monitor.h"

struct tracee {
	struct thread_meter meter; /* without a process: its parent's stop has not told of it yet */
	struct tracee      *chain;
	pid_t               thread;
	int                 is_attaching; /* it was interrupted, to begin counting */
	int                 is_leaving;   /* a child that --children leaves out */
	int      is_ending;  /* has stopped at its end: its memory was seen for the last time */
	int      is_newborn; /* has not returned from the call that made it */
	int      in_call;
	enum abi abi;
	uint32_t number;
	uint64_t entered_ns;
	/* How the last call ended, which may have been our doing. */
	int      is_restarting; /* it returned only to be made again */
	int      is_continued;  /* it goes on: what comes next is the same call */
	uint64_t took_ns;
};

extern struct tracer {
	const struct order *order;
	int                 counts_calls;
	size_t              tracees, early; /* `early`: of those, without a process */
	uint64_t            unfollowed, hits, born;
} tracer;

/* tracees.c: who they are, by number. */
struct tracee *tracee_find(pid_t thread);
struct tracee *tracee_add(struct meter *process, pid_t thread, uint64_t begin_ns);
/* It is not found any more; its meter is the caller's to end. */
void tracee_take_out(struct tracee *tracee);
void tracee_renumber(struct tracee *tracee, pid_t thread);
/* It stopped before its parent told of it. If the parent was killed in between, it never will: then
 * what /proc says must do. */
void tracee_add_early(pid_t thread);
void tracee_drop_early(struct tracee *tracee);
/* Calls `each` for those that are early. It may drop this one. */
void tracees_early(void (*each)(struct tracee *early, void *context), void *context);
int tracee_is_counting(const struct tracee *tracee);
/* Lets it go on, with that signal if it is not 0. */
void tracee_resume(struct tracee *tracee, int signal);

/* registers.c: the call that a stopped tracee is in, or has just returned from, and its result.
 * Returns -1 if it is in none, or this processor's registers are not known there. */
int registers_read(pid_t thread, uint64_t *number, int64_t *result);
/* Which table its number is from, which becomes the table's own. */
enum abi registers_abi(uint32_t architecture, uint64_t *number);
uint32_t registers_architecture(pid_t thread);

/* counting.c: system calls, of tracees that are counting. */
void count_at_stop(struct tracee *tracee);
/* It was interrupted when it was attached: if it was in a call that has returned by that, this is
 * where it is counted; one that will be restarted is when it returns. */
void count_interrupted(struct tracee *tracee);
/* It ends: exit and exit_group do not return. One that was killed in a call has left it, and its
 * result is there; but one that was killed where we had it stopped, before the call, has not made
 * it. */
void count_last(struct tracee *tracee);
/* A signal that without us would not have come to it made its call return: it has not, as far as
 * the program goes. */
void uncount(struct tracee *tracee);

/* births.c: of processes and threads. */
/* A tracee's first stop: it has done nothing yet. */
void birth_begin(struct tracee *tracee);
/* The parent's stop. */
void birth_at_stop(struct tracee *parent);
/* `process` is about to end, or has: no stop will tell of a child that is not known yet. */
void birth_place_orphans(struct meter *process);
/* Whether the next child of that one is followed. */
int birth_is_followed(const struct meter *parent);

/* stops.c: takes all that have stopped or ended, and lets them go on. Returns whether there was
 * anything. */
int stops_take(void);

/* attach.c: processes that run already. */
int seize(pid_t thread);
/* Returns 0, or -1 with a sentence. */
int attach_command(pid_t child, char *why, size_t why_room);
int attach_pids(const struct order *order, char *why, size_t why_room);

#endif
