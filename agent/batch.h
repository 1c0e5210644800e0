/* batch.h -- how many operations make a batch, and for how long to warm up. */
#ifndef STEELYARD_BATCH_H
#define STEELYARD_BATCH_H

#include <stdint.h>

#include "clock_facts.h"

struct batch_aim {
	struct clock_facts clock;
	uint64_t batch_ns; /* wished length of a batch; 0: 10 ms, or more where the clock is poor */
	uint64_t warmup_ns;  /* run at least this long before anything counts */
	uint64_t operations; /* in a batch; 0: find out */
	uint64_t at_once;    /* operations that go on at once; 0: one */
	uint64_t cycle;      /* a batch is a multiple of that many operations; 0: of one */
	uint64_t batches;    /* at most */
	uint64_t whole_ns;   /* batches that are longer than the aim are fewer, but may take so long
	                        together; 0: no longer than twice the aim each */
	uint64_t long_ns; /* an operation that lasts so long is done once; 0: none is expected to */
	int      keep_first; /* whether that once may be the first, with nothing before it */
};

/* What makes a batch; either returns an outcome. */
struct batch_hooks {
	int (*before)(uint64_t operations); /* not timed; or NULL */
	int (*run)(uint64_t operations);
};

struct batch_plan {
	uint64_t operations; /* in a batch */
	uint64_t batches;
	uint64_t shortest_ns; /* of such batches, while sizes were tried */
	uint64_t spent;       /* operations already done to find this out, and not measured */
	uint64_t first_ns; /* what the only batch took, which has been done; 0: nothing is measured
	                      yet */
};

/* Sizes batches by running them: aims at 10 ms, 1000 clock steps and 200 clock readings, whichever
 * is longest, at whole cycles, and at eight operations or more for each that goes on at once;
 * accepts a size when twice the operations take twice the time within 5 %, at one of two tries;
 * else doubles the aim, twice at most. Goes on running, at least two batches and warmup_ns, so that
 * what follows is warm. Batches that turn out longer than twice the aim are made fewer, but for
 * whole_ns, and never fewer than 3. Where the first operation of all lasts long_ns it is not
 * repeated: the plan is one batch of one operation, and with keep_first that is the one that was
 * done. Returns 0 and fills *plan, or what a hook returned if that was not 0. */
int batch_size(const struct batch_aim *aim, const struct batch_hooks *hooks,
               struct batch_plan *plan);

/* Runs plan->batches batches and stores each one's duration, or that of the one that has been done.
 * One pair of clock readings a batch. Returns 0, or what a hook returned if that was not 0. */
int batch_measure(const struct batch_plan *plan, const struct batch_hooks *hooks,
                  uint64_t durations_ns[]);

#endif
