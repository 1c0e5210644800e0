/* windows.h -- at BUDGET and with --prove, system calls are hooked in windows: when, and for how long. */
#ifndef STEELYARD_WINDOWS_H
#define STEELYARD_WINDOWS_H

#include "../monitor.h"

void windows_open(const struct order *order);
/* When something is to be done next; UNKNOWN: never. */
uint64_t windows_next(void);
/* Does it, if it is time. */
void windows_turn(void);
/* Whether calls are hooked in at this moment. */
int windows_is_open(void);
/* Ends a window that is open. */
void windows_close(void);

#endif
