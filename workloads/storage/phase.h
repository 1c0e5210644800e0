/* phase.h -- what most workloads of one file share: the file, one buffer for a block, the account.
 *
 * Each batch begins at the beginning of the file, or of the random order, with the data where
 * `cache` says.
 */
#ifndef STEELYARD_STORAGE_PHASE_H
#define STEELYARD_STORAGE_PHASE_H

#include <fcntl.h>
#include <unistd.h>

#include "area.h"
#include "meter.h"

extern int      phase_file;
extern void    *phase_room;
extern uint64_t phase_sync; /* 1: a batch ends when its data are on the device */

#define SYNC_PARAMETER \
	NUMBER("sync", "1: a batch ends when all data are on the device", &phase_sync, 0, 1)

/* In setup: makes the file, opens it with those flags, and begins an account of that many threads.
 */
int phase_begin(int flags, uint64_t lanes);
/* The same, of one thread, where "direct" cannot be, with the reason. */
int phase_begin_cached(int flags, const char *why);
/* The same for a workload that makes the file itself in each batch: it is not there yet. And for
 * one whose file is there and grows from nothing in each. */
int phase_begin_new(void);
int phase_begin_empty(int flags);

/* `before`: for batches that read each of their blocks once; that write, or read a block often;
 * that make the file themselves; that let it grow from nothing. */
int phase_before_reading(uint64_t operations);
int phase_before_writing(uint64_t operations);
int phase_before_new(uint64_t operations);
int phase_before_empty(uint64_t operations);

/* The end of a batch that has written: fsync, if `sync` says so. */
int phase_synced(void);
/* The same, and closes the new file. */
int phase_closed(void);

/* `teardown`. */
void phase_end(void);

#endif
