/* processors.h -- which processors are on. */
#ifndef STEELYARD_PROCESSORS_H
#define STEELYARD_PROCESSORS_H

#include <stddef.h>

enum { PROCESSOR_NUMBERS = 8192 }; /* more than any kernel has: NR_CPUS */

/* Their numbers, in order: all that any of the kernel's accounts names. Each of these may be hidden
 * or masked, as /sys is in a sandbox: so one of them is not believed against another, and a number
 * may be too many. Returns how many there are, of which at most `most` are listed; 0: nothing says
 * so. */
size_t processors_on(int numbers[], size_t most);
/* The same as the kernel's text for a set of them: "0-3,8". Returns -1 if there are none, or the
 * room does not do. */
int processors_text(char *text, size_t room);

/* The sentence for that. */
extern const char processors_unknown[];

#endif
