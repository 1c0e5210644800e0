/* budget.h -- at BUDGET, system calls are hooked in as long as that is within the budget, and in
 * windows where it is not; with --prove in windows alone. When, and for how long. */
#ifndef STEELYARD_BUDGET_H
#define STEELYARD_BUDGET_H

#include "monitor.h"

/* Before anybody is watched. Returns 0, or -1 if the hook was refused. */
int budget_begin(const struct order *order);
/* When something is to be done next; UNKNOWN: never. */
uint64_t budget_next(void);
/* Does it, if it is time. */
void budget_turn(void);
/* Whether a window is open at this moment. */
int budget_window_is_open(void);
/* Ends a window that is open, and all counting. */
void budget_end(void);

#endif
