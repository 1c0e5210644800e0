/* random.h -- what random access to a large file shares: several seekers, each block once in a
 * pass. */
#ifndef STEELYARD_STORAGE_RANDOM_H
#define STEELYARD_STORAGE_RANDOM_H

#include "phase.h"

/* Each seeker's own. */
extern void         *random_rooms[LANES_MOST];
extern struct filler random_fillers[LANES_MOST];

#define RANDOM_PARAMETERS                                                                     \
	AREA_PARAMETERS, NUMBER("seekers", "threads that each do one access after the other", \
	                        &random_seekers, 1, LANES_MOST)

extern uint64_t random_seekers;

/* In setup. A batch is random_run: perform() does one operation, whose numbers begin at 0. */
int random_begin(int flags, int (*perform)(unsigned member, uint64_t number));
int random_run(uint64_t operations);
void random_end(void);

/* The block that an operation is for, and where it lies. */
INLINED uint64_t random_block(uint64_t number)
{
	return area_order[number < area_blocks ? number : number % area_blocks];
}

INLINED off_t random_place(uint64_t block)
{
	return (off_t)(block * area_block);
}

/* A block read by a seeker into its room, and checked; written from its filler. */
int random_read(unsigned member, uint64_t block);
int random_write(uint64_t block, const void *from);

#endif
