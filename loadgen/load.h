/* load.h -- a load for a while by several event loops, each on a thread of its own, and what all of
 * them found. */
#ifndef STEELYARD_LOAD_H
#define STEELYARD_LOAD_H

#include "surge/users.h"

enum { THREADS_MOST = 64 };

struct load_time {
	uint64_t elapsed_ns; /* of the whole load, with its warm-up and what ended it */
	uint64_t busiest_ns; /* the processor time of the busiest loop in it */
};

/* Divides options->clients among options->threads loops; `users` NULL: the clients all ask for one
 * path. Adds what they find to `all`. Returns 0, or an errno if the load could not be made or ended
 * early. */
int load_run(const struct options *options, const struct reference *reference,
             const struct users *users, struct result *all, struct load_time *time);

#endif
