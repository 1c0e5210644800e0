/* stalls.h -- when the load generator itself did not run: no server is to blame for that time. */
#ifndef STEELYARD_STALLS_H
#define STEELYARD_STALLS_H

#include <stdint.h>

enum {
	STALL_LEAST_NS = 5000000, /* so late a loop is at its turn, or so long it takes one */
	HEARTBEAT_NS = 20000000,  /* a loop has a turn at least so often, so as to know */
	STALLS_KEPT = 256
};

struct stalls {
	uint64_t total_ns;
	unsigned count; /* at all; the last of them are kept */
	struct stall {
		uint64_t from, to;
	} kept[STALLS_KEPT];
};

/* Notes this span if it is a stall. */
void stalls_note(struct stalls *stalls, uint64_t from, uint64_t to);
/* How much of that span they take. */
uint64_t stalls_within(const struct stalls *stalls, uint64_t from, uint64_t to);

#endif
