/* pauses.h -- who waits until when: a binary heap. */
#ifndef STEELYARD_PAUSES_H
#define STEELYARD_PAUSES_H

#include <stdint.h>

struct pauses {
	struct pause {
		uint64_t ends;
		uint32_t whose;
	}       *heap;
	unsigned count;
};

/* With room for that many. Returns 0, or -1 with errno. */
int pauses_make(struct pauses *pauses, unsigned most);
void pauses_free(struct pauses *pauses);
void pauses_add(struct pauses *pauses, uint64_t ends, uint32_t whose);
/* When the first of them ends; UINT64_MAX if there are none. */
uint64_t pauses_first(const struct pauses *pauses);
/* Takes that one, and returns whose it is. */
uint32_t pauses_take(struct pauses *pauses);

#endif
