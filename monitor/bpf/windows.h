/* windows.h -- at BUDGET, system calls are hooked in as long as that is within the budget, and in windows where it
 * is not; with --prove in windows alone. When, and for how long. */
#ifndef STEELYARD_WINDOWS_H
#define STEELYARD_WINDOWS_H

#include "../monitor.h"

/* Before anybody is watched. Returns 0, or -1 if the hook was refused. */
int windows_begin(const struct order *order);
/* When something is to be done next; UNKNOWN: never. */
uint64_t windows_next(void);
/* Does it, if it is time. */
void windows_turn(void);
/* Whether a window is open at this moment. */
int windows_is_open(void);
/* Ends a window that is open, and all counting. */
void windows_end(void);

#endif
