/* absent.c -- in place of the backend that needs BPF, where it could not be built. */
#include <stdio.h>

#include "monitor.h"

static int probe(const struct order *order, char *why, size_t why_room)
{
	(void)order;
	snprintf(why, why_room, "steelyard-watch was built without it, because " WITHOUT_BPF);
	return -1;
}

const struct backend bpf_backend = { .name = "bpf", .probe = probe };
