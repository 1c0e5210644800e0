/* area.h -- one large file in the trial's directory, and where its data is when a batch begins.
 *
 * The parameter `cache` says where: "warm", all of it in this system's cache; "cold", nothing of
 * it; "direct", past the cache (O_DIRECT); "limited", in a cache that has room for half of it at
 * most, because this system's memory is no larger. What it says is brought about before each batch,
 * untimed, and checked: data that are elsewhere end the trial. What may lie below this system (its
 * host, the device itself) has caches of its own, and is not checked.
 *
 * The data are random, so that nothing is compressed, found to be alike or left out as zeros. Each
 * block begins with its number. Functions of type int return an outcome. Linux only.
 */
#ifndef STEELYARD_STORAGE_AREA_H
#define STEELYARD_STORAGE_AREA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "../api/workload.h"

enum { AREA_BLOCK_MOST = 16777216, AREA_CACHE_ROOM = 16 };

extern uint64_t area_size, area_block, area_blocks; /* the last: how many blocks it has */
extern uint64_t area_seed;
extern char     area_cache[AREA_CACHE_ROOM];

#define AREA_PARAMETERS                                                                         \
	NUMBER("size", "bytes in the file, a multiple of block", &area_size, 512,               \
	       UINT64_C(1) << 40),                                                              \
		NUMBER("block", "bytes in a block, a multiple of 512", &area_block, 512,        \
	               AREA_BLOCK_MOST),                                                        \
		NUMBER("data_seed", "random seed of the data and of the order", &area_seed, 0,  \
	               UINT32_MAX),                                                             \
		STRING("cache", "place of the data: warm, cold, direct or limited", area_cache, \
	               AREA_CACHE_ROOM - 1)

/* First in setup: makes the trial's directory the working directory, and checks the parameters.
 * area_make also makes the file, fills it and brings it to the device. */
int area_begin(void);
int area_make(void);

/* Whether it is used past the cache. */
int area_is_direct(void);

/* Opens the file (flags as of open(2)); a new one if there is none. */
int area_open(int flags, int *file);

/* For `before`: brings the data to where they shall be. Of a batch that reads, or writes, that many
 * bytes, each of them once; of one that reads each of them many times, 0. */
int area_arrange(uint64_t operations, uint64_t bytes);

/* After a batch: checks that its data came from there. */
int area_came(void);

/* The bytes of the file that are in this system's cache now; UINT64_MAX: not known. */
uint64_t area_resident(void);

/* For a workload that makes a new file in each batch: removes it, and brings everything to the
 * device. */
int area_renew(void);

/* Brings everything that was changed on this file system to the device. */
int area_synced(void);

/* For teardown. */
void area_end(void);

/* Random bytes that blocks are made of. Each thread that writes has its own. */
struct filler {
	unsigned char *pool; /* NULL: none yet */
	uint64_t       blocks;
};

/* Of that thread, by its number. */
int filler_make(struct filler *filler, uint64_t thread);
void filler_end(struct filler *filler);
/* A block as it is to be written there: its number, and random bytes, others than in the blocks
 * next to it. Its start is fit for O_DIRECT. */
INLINED const void *filler_block(const struct filler *filler, uint64_t number)
{
	unsigned char *block = filler->pool + number % filler->blocks * area_block;

	__builtin_memcpy(block, &number, sizeof(number));
	return block;
}
/* The first thread's; made by area_begin. */
extern struct filler area_filler;

/* A block as it was read, wherever it now is: its number must be that. */
INLINED int area_check(const void *block, uint64_t number)
{
	uint64_t found;

	__builtin_memcpy(&found, block, sizeof(found));
	return found == number ? 0
	                       : fail_check("block %llu was read in place of block %llu",
	                                    (unsigned long long)found, (unsigned long long)number);
}

/* What a read or write of a whole block returned. */
INLINED int area_whole(ssize_t done, const char *call)
{
	const char *room = strstr(call, "read") ? "" : ": the disk or a quota is full";

	if (done < 0)
		return fail(call);
	return (uint64_t)done == area_block ? 0
	                                    : fail_check("%s: %zd of %llu bytes%s", call, done,
	                                                 (unsigned long long)area_block, room);
}

/* Memory for a block, fit for O_DIRECT; or NULL with errno. Given back with aligned_give. */
void *area_room(void);

/* The numbers of all blocks in a random order that follows from the seed; made by area_make. */
extern uint32_t *area_order;

#endif
