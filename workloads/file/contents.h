/* contents.h -- one file of known contents in the trial's directory.
 *
 * It is a sequence of 4-byte numbers, each known from its place, so that any block can be checked
 * and the sum of all is known. Its size is a multiple of four. Functions of type int return an
 * outcome.
 */
#ifndef STEELYARD_CONTENTS_H
#define STEELYARD_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "../api/handle.h"

enum { CONTENTS_BLOCK_MOST = 16777216 };

/* The number at that place. */
static inline uint32_t contents_number(uint64_t place)
{
	return (uint32_t)place * 2654435761u + 1;
}

/* Makes the file, of `size` bytes in writes of `block`; opens it again, to read and write. */
int contents_make(uint64_t size, uint64_t block);
int contents_open(handle *file);

/* Removes it. */
void contents_remove(void);

/* Room for a block, on a page's boundary, for what is read; made and written to by contents_make. */
extern uint32_t *contents_room;

/* Adds numbers up, by loads of 16 bytes into four registers: as fast as the caches bring them, and
 * the same on every system. `numbers` begins at a multiple of 16 bytes. */
uint32_t contents_sum(const uint32_t numbers[], size_t count);

/* One number in every `step` of them, beginning with number `from`, against the known ones:
 * 0, or some of the bits in which they differ. `numbers` begins at the file's place `place`. */
static inline uint32_t contents_difference(const uint32_t numbers[], uint64_t place, size_t count,
                                           uint64_t from, uint64_t step)
{
	uint32_t different = 0;

	for (uint64_t i = from; i < count; i += step)
		different |= numbers[i] ^ contents_number(place + i);
	return different;
}

/* The sum of a whole file of that size. */
uint32_t contents_expected_sum(uint64_t size);

#endif
