/* family.h -- the processes that are watched, where the kernel's messages of births and deaths are
 * followed: an entry for each from its birth to its record. */
#ifndef STEELYARD_FAMILY_H
#define STEELYARD_FAMILY_H

#include "kernel/exits.h"
#include "monitor.h"

struct member {
	struct member *next, *before; /* of all */
	struct member *in_bucket;     /* of those with the same hash */
	struct process process;
	struct process reported; /* what the last reading said */
	uint64_t       running;  /* its threads that have not ended */
	uint64_t       exits;    /* those that have */
	uint64_t       accounts; /* of those, that have come */
	uint64_t       dead_ns;  /* when the last of its threads ended; UNKNOWN: it runs */
	uint64_t gone_ns;  /* when it was first found gone, with no message of its end; UNKNOWN */
	int      left_out; /* by --children; it is in the totals alone */
	struct task_account account; /* of its ended threads */
	uint64_t base[FIGURES];  /* what it had cost when it was attached, as accounts have it, */
	uint64_t first[FIGURES]; /* and as /proc has it */
};

/* A member may be the beginning of a struct of that size, which is zero otherwise. Children that
 * are left out are added to the account. */
void family_begin(const struct order *order, struct account *account, size_t size);
struct member *family_find(pid_t pid);
struct member *family_add(pid_t pid);
/* A child has been made. Returns it, or NULL if the parent is none of ours. */
struct member *family_fork(pid_t parent, pid_t child, uint64_t at_ns);
/* What was read of its memory is another program's. */
void family_forget_memory(struct member *member);
/* It runs another program from now on. */
void family_program(struct member *member, const char *name, int by_exec);
/* A thread of it has ended. */
void family_thread_ends(struct member *member, uint64_t at_ns);
/* One that runs already: its figures count from now. `exits` may not be open. */
struct member *family_attach(struct exits *exits, pid_t pid);
/* The command's process, before its exec. */
struct member *family_attach_command(struct exits *exits, pid_t pid);
/* It and all that descend from it. Returns how many were new. */
size_t family_attach_all(struct exits *exits, const pid_t pids[], size_t count);
/* Takes the accounts of threads that have ended. */
void family_take_accounts(struct exits *exits);
/* Has its figures say what it has cost by now. Returns -1 if it has ended. */
int family_refresh(struct exits *exits, struct member *member);
/* The figures of one that has ended, from its accounts if all of them have come; else all
 * UNKNOWN. */
void family_sum_up(struct member *member);
/* The same where all of them have come and figures are there that the accounts do not have: those
 * stay. */
void family_take_sum(struct member *member);
/* True once exit messages have come for all its threads; with `checks_proc` also some time after
 * /proc has shown it gone: messages can be lost. */
int family_is_dead(struct member *member, int checks_proc);
/* Who is in the control group by now and is not watched: LOST_FROM_GROUP. NULL: none. */
void family_check_cgroup(const char *directory);
/* It is the command, and is being taken down still: what it has cost in all is not told to us
 * yet. */
int family_awaits_account(const struct member *member);
/* Writes its record (or adds it to those left out, and in any case to the sum of all), and forgets
 * it. */
void family_write(struct member *member);
struct member *family_first(void);
/* A backend's wait: takes what has come, by take(0), every so often. */
enum woken family_wait(uint64_t until_ns, uint64_t step_ns, void (*take)(int));
/* Those that have ended may have messages under way: waits for these, but not for long. */
void family_wait_for_the_last(void (*take)(int), int (*is_waited_for)(struct member *));
/* Writes a reading of each that has changed. `refresh` brings its figures up to date; -1: it has
 * ended. */
void family_write_readings(uint64_t at_ns, int (*refresh)(struct member *));
/* What all have cost, as one process, without levels. Returns how many there were and are. */
uint64_t family_total(struct process *sum, int (*refresh)(struct member *));

#endif
