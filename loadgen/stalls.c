/* stalls.c -- see stalls.h. */
#include "stalls.h"

void stalls_note(struct stalls *stalls, uint64_t from, uint64_t to)
{
	if (to < from + STALL_LEAST_NS)
		return;
	stalls->total_ns += to - from;
	stalls->kept[stalls->count++ % STALLS_KEPT] = (struct stall){ from, to };
}

uint64_t stalls_within(const struct stalls *stalls, uint64_t from, uint64_t to)
{
	uint64_t within = 0;

	for (unsigned i = 0; i < stalls->count && i < STALLS_KEPT; i++) {
		const struct stall *one = &stalls->kept[i];
		uint64_t            begins = one->from > from ? one->from : from;
		uint64_t            ends = one->to < to ? one->to : to;

		within += ends > begins ? ends - begins : 0;
	}
	return within;
}
