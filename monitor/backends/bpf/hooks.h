/* hooks.h -- the BPF programs from our side: loading them, hooking them in, their maps. */
#ifndef STEELYARD_HOOKS_H
#define STEELYARD_HOOKS_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor.h"
#include "accounting.h"

/* The maps as memory. */
extern struct hooks {
	struct row *rows;
	uint32_t    slots; /* row 0 included */
	char       *cells; /* a row of CELLS for each slot; NULL at LIFE */
	size_t      cell_bytes;
	size_t      maps_bytes;
	uint64_t    hook_ns;    /* what a hit on a system call costs; UNKNOWN: not calibrated */
	uint32_t    walk;       /* number of the last walk over tasks */
	uint32_t    calibrated; /* slot of a process of ours that was watched for that, and is in
	                           no account */
} hooks;

/* Loads the programs, and hooks none in. Returns 0, or -1 with a sentence in `why`. */
int hooks_load(const struct order *order, char *why, size_t why_room);
/* Hooks in those of the life cycle; system calls are not counted yet. */
int hooks_on(const struct order *order, char *why, size_t why_room);
/* Finds hook_ns, by system calls of our own. Those of the life cycle must be on. */
void hooks_calibrate(void);
/* Hooks system calls in and out; returns 0 or -1. */
int hooks_calls_on(void);
void hooks_calls_off(void);
/* Whether calls are counted, where that is not always. Calls must be hooked in. */
void hooks_count(int counting);
/* At BUDGET: hits of the hook on system calls on all processors, by whomever, since it was
 * loaded. */
uint64_t hooks_hits(void);
/* From now on, a processor that comes to that many more hits makes hooks_file readable; UNKNOWN:
 * none does. */
void hooks_allow(uint64_t hits);
/* Whether one has, since this was last asked. */
int hooks_are_spent(void);
/* A window opens, with calls counted or not, and closes; each returns the moment. */
uint64_t hooks_open_window(int counting);
uint64_t hooks_close_window(void);
/* After the refresh that follows a window's end: until then, whoever is left by a processor that he
 * was on when it ended must still be told of, or what he ran in the window is lost. */
void hooks_leave_window(void);
/* How long the thread of that slot ran in the window that closed last. Refresh before. */
uint64_t hooks_ran_in_window(uint32_t slot);
/* The command's process: its account begins with its exec. */
int hooks_hold(pid_t child);
/* Takes in these processes, with their threads and descendants. Returns how many tasks that
 * were. */
int hooks_attach(const pid_t pids[], size_t count);
/* Brings the row of every watched task that has run up to date, and takes in what was moved into
 * the cgroup. */
void hooks_refresh(void);
/* The same of all, those included that have exited: their rows' `walk` is then hooks.walk. */
void hooks_refresh_all(void);
/* Finds which of those that have exited are over by now. A refresh does so too. */
void hooks_settle(void);
/* How many have exited, and are not over, of those who have no slot of their own. */
uint64_t hooks_unfinished(void);
/* Slots whose thread is over, to `gone`. */
void hooks_drain(void (*gone)(uint32_t slot));
/* Makes a slot free again. */
void hooks_give_back(uint32_t slot);
/* Takes hooks.calibrated's slot out of use: there was one more for it. */
void hooks_retire(uint32_t slot);
uint32_t hooks_slots_highest(void);
/* Whether anybody has found no slot. */
int hooks_lost_slots(void);
/* Tasks and moments that the programs have not seen, so far. */
uint64_t hooks_lost_events(void);
/* How many rows were ever given to somebody. */
uint32_t hooks_enrolled(void);
/* The slots that the last walk found changed; NULL if there were too many. */
const uint32_t *hooks_changed(size_t *count);
/* Which call a cell stands for. Returns 0 if it stands for none. */
int hooks_call_of(uint32_t cell, enum abi *abi, uint32_t *number);
/* Readable when slots run low. */
int hooks_file(void);
/* Adds what only the hooks know. */
void hooks_account(struct account *account);
void hooks_off(void);
/* The same, and as if nothing had been loaded. */
void hooks_unload(void);

static inline struct cell *hooks_cell(uint32_t slot, uint32_t cell)
{
	return (struct cell *)(void *)(hooks.cells +
	                               ((size_t)slot * CELLS + cell) * hooks.cell_bytes);
}

#endif
