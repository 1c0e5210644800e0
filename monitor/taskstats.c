#include <stdio.h>
#include "monitor.h"
static int probe(const struct order *order, char *why, size_t why_room)
{
	(void)order;
	snprintf(why, why_room, "not written yet");
	return -1;
}
const struct backend taskstats_backend = { .name = "taskstats", .probe = probe };
