/* team.h -- threads that stay, and share the operations of a batch. POSIX only.
 *
 * A process has one team. What members return are outcomes.
 */
#ifndef STEELYARD_API_TEAM_H
#define STEELYARD_API_TEAM_H

#include <stdint.h>

enum { TEAM_MOST = 512 };

/* In setup: starts that many threads, which wait. When the first of them fails, it calls failed(),
 * or NULL, so that the others end soon. */
int team_start(unsigned count, void (*failed)(void));

/* Has each thread call work(member) once, with members from 0; without threads this one does, as
 * member 0. Returns when all are done, with the outcome of the first that failed and its words. */
int team_run(int (*work)(unsigned member), uint64_t operations);

/* Within work: the next operation's number, from 0 in each batch. TEAM_NONE if none is left, or if
 * somebody has failed. */
#define TEAM_NONE UINT64_MAX
uint64_t team_take(void);

/* In teardown; safe after half a setup. Then another team may be started. */
void team_end(void);

#endif
