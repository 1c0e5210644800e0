/* gather.h -- slots of threads into processes. */
#ifndef STEELYARD_GATHER_H
#define STEELYARD_GATHER_H

#include "monitor.h"

void gather_open(const struct order *order);
/* Takes in new threads, and ends those that are gone; writes the processes that are over. */
void gather_ended(void);
/* Whether none is left that runs: a zombie may wait for its parent for ever. */
int gather_is_empty(void);
/* Brings all rows up to date, and keeps in mind which changed. */
void gather_refresh(void);
/* Writes a reading of each process that has changed since its last one. Refresh before. */
void gather_readings(uint64_t at_ns);
/* At BUDGET, system calls are counted from the beginning. This ends it: what was counted until now
 * is put aside. Who runs from now on makes calls that are not counted, but for those in windows. */
void gather_pause(void);
/* The hook is there again: counts go on. Who has not run since the pause has missed nothing. */
void gather_resume(void);
/* Nothing is counted any more, because the watch ends. */
void gather_stop_counting(void);
/* What was called, and how long was run, in the window that was open from then to then. It stands
 * for so much more of the time than others as its weight says. Refresh before. */
void gather_window(uint64_t begin_ns, uint64_t end_ns, double weight);
/* Must be called once a minute at least (and may be as often as one likes), for a cell's halves not
 * to overflow. */
void gather_fold(void);
/* All that was watched, as if one process had done it; how many processes that were. */
uint64_t gather_total(struct process *total);
/* How many threads have exited, are gone from the list of tasks (as of the last walk), and are not
 * final yet. */
uint32_t gather_unfinished(void);
/* Writes everybody who is left. */
void gather_rest(void);

#endif
