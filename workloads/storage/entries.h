/* entries.h -- many files in one directory, which are made, asked for and removed, in order or at
 * random.
 *
 * Their names are hexadecimal numbers. With shared=1 all copies of a trial work in one directory,
 * else each in one of its own. Functions of type int return an outcome. Linux only.
 */
#ifndef STEELYARD_STORAGE_ENTRIES_H
#define STEELYARD_STORAGE_ENTRIES_H

#include <stdint.h>

#include "meter.h"

enum { ENTRIES_MOST = 1000000, ENTRY_NAME = 24, ENTRY_SIZE_MOST = 1048576 };

extern uint64_t entries_count, entries_random, entries_beside, entries_shared, entries_sync;

#define ENTRIES_PARAMETERS                                                               \
	NUMBER("files", "files in a pass", &entries_count, 1, ENTRIES_MOST),             \
		NUMBER("random", "1: in a random order; 0: in the order of their names", \
	               &entries_random, 0, 1),                                           \
		NUMBER("shared", "1: all copies in one directory", &entries_shared, 0, 1)
#define BESIDE_PARAMETER \
	NUMBER("files", "other files in the directory", &entries_beside, 0, ENTRIES_MOST)
#define ENTRIES_SYNC_PARAMETER \
	NUMBER("sync", "1: a batch ends when all is on the device (syncfs)", &entries_sync, 0, 1)

/* In setup: the directory, and the account. In teardown: everything is removed. */
int entries_begin(void);
void entries_end(void);

/* `before` of a batch of `operations` that make files, that ask for them, that remove
 * them. */
int entries_before_making(uint64_t operations);
int entries_before_asking(uint64_t operations);
int entries_before_removing(uint64_t operations);
/* `before` of a batch that works on something else, beside `files` files. */
int entries_before(uint64_t operations);

/* The name of the file that an operation is for, and its number, which its name tells. */
const char *entries_name(uint64_t number, char name[ENTRY_NAME]);
uint32_t entries_number(uint64_t number);

/* For a workload that sets it in setup: the bytes in each of the files that it asks for. The data
 * are pseudo-random and the same in all, but for the first four and the last four bytes, which are
 * the file's number and one. 0: the files are empty. */
extern uint64_t entries_size;
int entries_check(const unsigned char *data, uint32_t number);

/* One more exists; or one less. */
void entries_made(void);
void entries_removed(void);

/* The end of a batch that has changed the directory: syncfs, if `sync` says so. */
int entries_synced(void);

#endif
