/* sweep.c -- see sweep.h. */
#include "sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int sweep_points(const struct sweep *sweep, uint64_t points[POINTS_MOST], char *why,
                 size_t why_room)
{
	uint64_t allowed = memory_allowed() / (sweep->areas ? sweep->areas : 1);
	uint64_t to = sweep->to ? sweep->to : allowed;
	int      count = 0;

	if (sweep->areas && to > allowed) {
		snprintf(why, why_room,
		         "%s to=%" PRIu64 " is more than the %" PRIu64
		         " %s that this system's memory allows",
		         sweep->name, to, allowed, sweep->unit);
		return -1;
	}
	if (to < sweep->from) {
		snprintf(why, why_room, "%s to=%" PRIu64 " is less than from=%" PRIu64, sweep->name,
		         to, sweep->from);
		return -1;
	}
	for (int i = 0;; i++) {
		double   exact = (double)sweep->from * pow(2.0, (double)i / (double)sweep->steps);
		uint64_t size = (uint64_t)(exact / (double)sweep->grain + 0.5) * sweep->grain;

		if (size > to)
			return count;
		if (size == 0 || (count && size == points[count - 1]))
			continue;
		if (count == POINTS_MOST) {
			snprintf(why, why_room,
			         "from=%" PRIu64 " to=%" PRIu64 " steps=%" PRIu64
			         " are more than %d sizes",
			         sweep->from, to, sweep->steps, POINTS_MOST);
			return -1;
		}
		points[count++] = size;
	}
}

void sweep_shuffle(uint64_t points[], int count, uint64_t seed)
{
	uint32_t state = (uint32_t)(seed * 2654435761u) | 1;

	for (int i = count - 1; i > 0; i--) {
		int      other = (int)(next_number(&state) % (uint32_t)(i + 1));
		uint64_t held = points[i];

		points[i] = points[other];
		points[other] = held;
	}
}

void sweep_parameters(struct sweep *sweep, struct parameter parameters[4])
{
	parameters[0] = (struct parameter){ .name = "from",
		                            .summary = "the smallest size",
		                            .value = &sweep->from,
		                            .least = sweep->from,
		                            .most = UINT64_MAX / 4 };
	parameters[1] = (struct parameter){ .name = "to",
		                            .summary = "the largest size; 0: what memory allows",
		                            .value = &sweep->to,
		                            .least = 0,
		                            .most = UINT64_MAX / 4 };
	parameters[2] = (struct parameter){ .name = "steps",
		                            .summary = "sizes to a doubling",
		                            .value = &sweep->steps,
		                            .least = 1,
		                            .most = 16 };
	parameters[3] = (struct parameter){ 0 };
}
