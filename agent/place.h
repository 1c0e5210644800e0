/* place.h -- on which processors a trial's processes run.
 *
 * Whether two partners share a processor or have one each changes a hand-off between them tenfold,
 * and a scheduler decides it again each time: so the three are levels, and free is only one of
 * them.
 */
#ifndef STEELYARD_PLACE_H
#define STEELYARD_PLACE_H

#include <stdint.h>

enum place { PLACE_FREE = 0, PLACE_ONE = 1, PLACE_TWO = 2 };

/* Moves this process to one of the processors that it may use, chosen by `turn`, unless the place
 * is free; and keeps the next one for its partners if the place is two. Returns 0, or what
 * unsupported() returned. */
int place_take(enum place place, uint64_t turn);

/* The processor that it kept for partners; -1: none in particular. */
int place_second(void);

#endif
