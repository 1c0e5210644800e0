/* window.h -- the time in which a loop counts what ends, and the counting. */
#ifndef STEELYARD_WINDOW_H
#define STEELYARD_WINDOW_H

#include <sys/resource.h>

#include "exchange.h"

struct window {
	uint64_t began, opens, closes;
	uint64_t drains; /* until then a request is still sent that waited for a client when it
	                    closed */
	uint64_t connections_before;
	int      has_seconds;
	int has_failed; /* some request in it; where every one must be answered, that is the end */
	struct result *result;
	struct rusage  before;
};

/* The load is one by number: all time is in the window, and it has no seconds. */
void window_always(struct window *window, struct result *result);
/* The load begins; the window opens after the warm-up. */
void window_begin(struct window *window, const struct options *options, uint64_t began,
                  struct result *result);
int window_has(const struct window *window, uint64_t time);
/* Counts a request that has ended now. */
void window_count(struct window *window, const struct exchanges *exchanges,
                  const struct exchange *exchange, enum failure failure);
/* Counts a request for which no client was free by now: it takes at least as long as it has
 * waited. */
void window_count_unsent(struct window *window, uint64_t intended, uint64_t now);
/* Once in each turn of a loop. */
void window_look(struct window *window, const struct exchanges *exchanges);
/* The load is over: what the thread used, and how many connections it made. */
void window_end(struct window *window, const struct exchanges *exchanges);

#endif
