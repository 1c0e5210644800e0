/* place.c -- see place.h, and for partner_place workload.h. */
#include "place.h"

#include <errno.h>

#include "../workloads/api/workload.h"
#include "system.h"

enum { PROCESSORS_MOST = 1024 };

static int first = -1, second = -1; /* ours, the partners'; -1: none in particular */

int place_take(enum place place, uint64_t turn)
{
	int usable[PROCESSORS_MOST], count;

	if (place == PLACE_FREE)
		return 0;
	count = processors_usable(usable, PROCESSORS_MOST);
	if (count < 1)
		return unsupported("the processors it may use cannot be asked for: %s",
		                   system_error(errno));
	if (place == PLACE_TWO && count < 2)
		return unsupported("place=2 needs two processors, and there is one");
	first = usable[turn % (uint64_t)count];
	if (place == PLACE_TWO)
		second = usable[(turn + 1) % (uint64_t)count];
	if (processor_take(first, second))
		return unsupported("it cannot be moved to one processor: %s", system_error(errno));
	return 0;
}

int place_second(void)
{
	return second;
}

int partner_place(void)
{
	return second < 0 ? 0 : processor_take_thread(second);
}

int home_place(void)
{
	return first < 0 ? 0 : processor_take_thread(first);
}
