/* exits.h -- the kernel's own account of tasks, by taskstats: of each at its end, of a live one on
 * demand.
 *
 * Needs CAP_NET_ADMIN, and the first user and process namespace. A record of each task (thread) of
 * the machine that ends is queued, ours or not.
 *
 * Costs    a message to us for every task that ends anywhere on the machine.
 * Loses    messages, when we are too slow for the socket's buffer; in lost[LOST_EVENTS], at least.
 */
#ifndef STEELYARD_EXITS_H
#define STEELYARD_EXITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "monitor.h"

struct exits {
	int      file;   /* readable when a task has ended; -1: not open */
	int      asking; /* for questions, apart from what comes by itself */
	uint16_t family; /* the number that generic netlink has given taskstats */
};

/* What is known of one thread, or the sum of several. */
struct task_account {
	pid_t    thread, pid;     /* pid: 0 where the kernel does not say (before 5.19) */
	uint64_t figure[FIGURES]; /* processor time in ticks, for figures_split_time */
	int      exit_code;       /* as wait4 gives it */
	char     program[16];
};

/* Returns 0, or -1 with a sentence. */
int exits_open(struct exits *exits, char *why, size_t why_room);
void exits_close(struct exits *exits);
/* The next task that has ended. Returns 1, or 0 if there is none by now. */
int exits_next(struct exits *exits, struct task_account *account);
/* A live thread's account so far. Returns 0, or -1 if there is none of that number. */
int exits_ask(struct exits *exits, pid_t thread, struct task_account *account);

#endif
