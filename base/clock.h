/* clock.h -- the clock of all durations that Steelyard's programs measure. */
#ifndef STEELYARD_CLOCK_H
#define STEELYARD_CLOCK_H

#include <stdint.h>

#define SECOND_NS 1000000000ull

/* Nanoseconds since a moment that is fixed while the system is up. Ends the process if there is no
 * such clock, because nothing can be measured then. */
uint64_t clock_ns(void);

/* Nanoseconds since 1970 by the calendar, which may be set. Ends the process likewise. POSIX only.
 */
uint64_t clock_wall_ns(void);

/* The name of the first. */
extern const char clock_name[];

#endif
