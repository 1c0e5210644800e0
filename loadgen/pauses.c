/* pauses.c -- see pauses.h. */
#include "pauses.h"

#include <stdlib.h>

int pauses_make(struct pauses *pauses, unsigned most)
{
	*pauses = (struct pauses){ malloc(most * sizeof(*pauses->heap)), 0 };
	return pauses->heap ? 0 : -1;
}

void pauses_free(struct pauses *pauses)
{
	free(pauses->heap);
	*pauses = (struct pauses){ NULL, 0 };
}

void pauses_add(struct pauses *pauses, uint64_t ends, uint32_t whose)
{
	unsigned at = pauses->count++;

	for (; at && ends < pauses->heap[(at - 1) / 2].ends; at = (at - 1) / 2)
		pauses->heap[at] = pauses->heap[(at - 1) / 2];
	pauses->heap[at] = (struct pause){ ends, whose };
}

uint64_t pauses_first(const struct pauses *pauses)
{
	return pauses->count ? pauses->heap[0].ends : UINT64_MAX;
}

uint32_t pauses_take(struct pauses *pauses)
{
	uint32_t     whose = pauses->heap[0].whose;
	struct pause last = pauses->heap[--pauses->count];
	unsigned     at = 0, child;

	while ((child = 2 * at + 1) < pauses->count) {
		if (child + 1 < pauses->count &&
		    pauses->heap[child + 1].ends < pauses->heap[child].ends)
			child++;
		if (last.ends <= pauses->heap[child].ends)
			break;
		pauses->heap[at] = pauses->heap[child];
		at = child;
	}
	pauses->heap[at] = last;
	return whose;
}
