/* queue.h -- random access to a large file by io_uring: one thread keeps `depth` requests
 * outstanding. */
#ifndef STEELYARD_STORAGE_QUEUE_H
#define STEELYARD_STORAGE_QUEUE_H

#include "phase.h"

extern uint64_t queue_depth;

#define QUEUE_PARAMETERS \
	AREA_PARAMETERS, \
		NUMBER("depth", "requests outstanding at once", &queue_depth, 1, LANES_MOST)

/* In setup: the file, and a queue of requests that read, or write. */
int queue_begin(int is_writing);
/* A batch: each operation is one block. */
int queue_run(uint64_t operations);
void queue_end(void);

/* Entered once an operation, when it is done: a test counts that. */
int queue_done(unsigned slot, int32_t result);

#endif
