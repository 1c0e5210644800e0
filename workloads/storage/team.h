/* team.h -- several threads that share the operations of a batch: each takes the next number when
 * it is free.
 *
 * So the number of outstanding operations is that of the threads. One thread is the trial's own.
 */
#ifndef STEELYARD_STORAGE_TEAM_H
#define STEELYARD_STORAGE_TEAM_H

#include <stdint.h>

#include "meter.h"

extern uint64_t team_members;

#define TEAM_PARAMETER(name, summary) NUMBER(name, summary, &team_members, 1, LANES_MOST)

/* In setup: starts the threads. perform() does one operation and returns an outcome. */
int team_start(int (*perform)(unsigned member, uint64_t number));
/* A batch of so many operations; their numbers begin at 0. */
int team_run(uint64_t operations);
/* In teardown; safe after half a setup. */
void team_end(void);

#endif
