/* window.h -- the time in which a loop counts what ends, and the counting. */
#ifndef STEELYARD_WINDOW_H
#define STEELYARD_WINDOW_H

#include <sys/resource.h>

#include "exchange.h"

struct window {
	uint64_t began, opens, closes;
	uint64_t drains; /* until then a request is still sent that waited for a client when it
	                    closed */
	int has_seconds;
	int has_failed; /* some request in it; where every one must be answered, that is the end */
	_Atomic uint64_t *answered; /* when the last answer arrived; of several loops, the same */
	_Atomic uint64_t  own_answered;
	uint64_t          owed; /* since when the first of the requests was sent that have failed
	                           since an answer; UINT64_MAX: none */
	struct tally   counted; /* what is in the result of the exchanges' */
	struct result *result;
	struct rusage  before;
};

/* The load is one by number: all time is in the window, and it has no seconds. Its time is that
 * between window_resume and window_pause. */
void window_always(struct window *window, struct result *result);
void window_resume(struct window *window, struct exchanges *exchanges);
void window_pause(struct window *window, const struct exchanges *exchanges);
/* The load begins; the window opens after the warm-up. */
void window_begin(struct window *window, const struct options *options, uint64_t began,
                  struct result *result);
int window_has(const struct window *window, uint64_t time);
/* Counts a request that has ended now. */
void window_count(struct window *window, const struct exchanges *exchanges,
                  const struct exchange *exchange, enum failure failure);
/* Counts a request for which no client was free by now: it takes at least as long as it has
 * waited. */
void window_count_unsent(struct window *window, const struct exchanges *exchanges,
                         uint64_t intended, uint64_t now);
/* The load is over: what the thread used, and what its connections were. */
void window_end(struct window *window, const struct exchanges *exchanges);

#endif
