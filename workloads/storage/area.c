/* area.c -- see area.h. */
#include "area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../api/handle.h"
#include "../api/mounts.h"
#include "../api/system.h"
#include "residence.h"

/* Twice what btrfs compresses at once. */
enum { POOL = 262144, ALIGNMENT = 4096, DROPS_MOST = 10, DROP_PAUSE_US = 2000 };

uint64_t      area_size = 16777216, area_block = 8192, area_blocks, area_seed = 1;
char          area_cache[AREA_CACHE_ROOM] = "warm";
uint32_t     *area_order;
struct filler area_filler;

#ifdef __linux__
static const char name[] = "area";

static struct {
	int      file; /* for residence and fsync */
	int      is_made;
	uint64_t read_before, read_wanted; /* of the batch that is not checked yet; 0: none is */
} s = { .file = -1 };

static int is(const char *level)
{
	return !strcmp(area_cache, level);
}

int area_is_direct(void)
{
	return is("direct");
}

void *area_room(void)
{
	return aligned_take(ALIGNMENT, (area_block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static uint32_t state_of(uint64_t seed)
{
	return (uint32_t)seed * 2654435761u | 1;
}

int filler_make(struct filler *filler, uint64_t thread)
{
	uint32_t state = state_of(area_seed + (thread << 16));
	uint64_t bytes;

	filler->blocks = area_block < POOL ? POOL / area_block : 1;
	bytes = filler->blocks * area_block;
	filler->pool = aligned_take(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	if (!filler->pool)
		return fail("taking memory");
	for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++)
		((uint32_t *)(void *)filler->pool)[i] = next_number(&state);
	return 0;
}

void filler_end(struct filler *filler)
{
	aligned_give(filler->pool);
	filler->pool = NULL;
}

static int check_parameters(void)
{
	if (area_block % 512 || area_size % area_block)
		return fail_check("size is not a multiple of block, or block not of 512");
	if (!is("warm") && !is("cold") && !is("direct") && !is("limited"))
		return fail_check("cache is '%s', and must be warm, cold, direct or limited",
		                  area_cache);
	area_blocks = area_size / area_block;
	if (area_blocks > UINT32_MAX)
		return fail_check("size is more than %u blocks", UINT32_MAX);
	/* A quarter of this system's memory may be taken: so half of the file is twice that. */
	if (is("limited") && area_size / 8 < memory_allowed())
		return unsupported("the file is not twice as large as this system's memory: give "
		                   "the system memory = \"%lluM\" (or the file a size of %llu)",
		                   (unsigned long long)(area_size / 2 >> 20),
		                   (unsigned long long)memory_allowed() * 8);
	return 0;
}

int area_begin(void)
{
	int outcome = check_parameters();

	if (outcome || (outcome = handle_begin()))
		return outcome;
	return filler_make(&area_filler, 0);
}

int area_open(int flags, int *file)
{
	*file = open(name, flags | O_CLOEXEC | (area_is_direct() ? O_DIRECT : 0), 0600);
	if (*file < 0 && area_is_direct() && errno == EINVAL)
		return unsupported("the file system of the directory has no O_DIRECT");
	if (*file < 0)
		return fail("opening the file");
	s.is_made = 1;
	return 0;
}

static int fill(void)
{
	for (uint64_t i = 0; i < area_blocks; i++)
		if (handle_write_whole(s.file, filler_block(&area_filler, i), area_block))
			return fail("write");
	return fsync(s.file) ? fail("fsync") : 0;
}

int area_make(void)
{
	int outcome = area_begin();

	if (outcome)
		return outcome;
	area_order = malloc(area_blocks * sizeof(*area_order));
	if (!area_order)
		return fail("malloc");
	random_order_from(state_of(area_seed), area_order, (uint32_t)area_blocks);
	s.file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s.file < 0)
		return fail("creating the file");
	s.is_made = 1;
	return fill();
}

/* ---- Where the data are ---- */

static double percent(uint64_t bytes)
{
	return 100.0 * (double)bytes / (double)area_size;
}

/* A page that another processor has only just put aside is not dropped at the first try. */
static int drop(void)
{
	uint64_t resident = 0;

	for (int i = 0; i < DROPS_MOST; i++) {
		if ((errno = posix_fadvise(s.file, 0, 0, POSIX_FADV_DONTNEED)))
			return unsupported("the cache cannot be emptied of a file: %s",
			                   system_error(errno));
		resident = residence_bytes(s.file, area_size);
		if (resident == UINT64_MAX)
			return unsupported("this system does not say what it keeps in memory: "
			                   "%s could not be shown",
			                   area_cache);
		if (resident * 200 <= area_size)
			return 0;
		usleep(DROP_PAUSE_US);
	}
	if (resident == area_size)
		return unsupported("the file system of the directory keeps its files in memory");
	return fail_check("asked for %s, but %.1f %% of the file stayed in the cache", area_cache,
	                  percent(resident));
}

static int read_all(void)
{
	void *room = area_room();

	if (!room)
		return fail("taking memory");
	for (uint64_t i = 0; i < area_blocks; i++) {
		ssize_t got = pread(s.file, room, area_block, (off_t)(i * area_block));
		int     outcome = area_whole(got, "pread");

		if (outcome || (outcome = area_check(room, i))) {
			aligned_give(room);
			return outcome;
		}
	}
	aligned_give(room);
	return 0;
}

static int warm(void)
{
	uint64_t resident = residence_bytes(s.file, area_size);
	int      outcome;

	if (resident != UINT64_MAX && resident * 200 >= area_size * 199)
		return 0;
	if ((outcome = read_all()))
		return outcome;
	resident = residence_bytes(s.file, area_size);
	if (resident * 200 < area_size * 199)
		return fail_check("asked for warm, but only %.1f %% of the file is in the cache",
		                  percent(resident));
	return 0;
}

/* The kernel counts what it fetches for this process. */
int area_came(void)
{
	uint64_t came = process_read_bytes() - s.read_before, wanted = s.read_wanted;

	s.read_wanted = 0;
	if (wanted && came < wanted / 100 * 99)
		return fail_check("asked for %s, but only %.1f %% of what was read came from the "
		                  "device",
		                  area_cache, 100.0 * (double)came / (double)wanted);
	return 0;
}

int area_arrange(uint64_t operations, uint64_t bytes)
{
	struct device counted;
	int           outcome = area_came();

	if (outcome)
		return outcome;
	if ((is("cold") || is("direct")) && bytes && operations > area_blocks)
		return fail_check("a batch of %llu operations is more than the %llu blocks of the "
		                  "file: the rest would not be %s",
		                  (unsigned long long)operations, (unsigned long long)area_blocks,
		                  area_cache);
	/* Of dirty pages none is dropped, and their writing would disturb. */
	if (s.file >= 0 && fsync(s.file))
		return fail("fsync");
	outcome = s.file < 0 ? 0 : is("warm") ? warm() : is("limited") ? 0 : drop();
	s.read_before = process_read_bytes();
	if ((is("cold") || is("direct")) && s.read_before != UINT64_MAX &&
	    !device_counted(&counted))
		s.read_wanted = bytes;
	return outcome;
}

int area_synced(void)
{
	return sync_file_system(".") ? fail("syncfs") : 0;
}

int area_renew(void)
{
	if (s.is_made && unlink(name) && errno != ENOENT)
		return fail("unlink");
	return area_synced(); /* removing, too, is written later: not in the next batch */
}

void area_end(void)
{
	if (s.file >= 0)
		close(s.file);
	if (s.is_made)
		unlink(name);
	filler_end(&area_filler);
	free(area_order);
}

uint64_t area_resident(void)
{
	return s.file < 0 ? UINT64_MAX : residence_bytes(s.file, area_size);
}
#else
int filler_make(struct filler *filler, uint64_t thread)
{
	(void)filler;
	(void)thread;
	return area_begin();
}

void filler_end(struct filler *filler)
{
	(void)filler;
}

int area_begin(void)
{
	return unsupported("whether data are in the cache is asked by calls of Linux");
}

int area_make(void)
{
	return area_begin();
}

int area_is_direct(void)
{
	return 0;
}

void *area_room(void)
{
	return NULL;
}

int area_open(int flags, int *file)
{
	(void)flags;
	(void)file;
	return area_begin();
}

int area_arrange(uint64_t operations, uint64_t bytes)
{
	(void)operations;
	(void)bytes;
	return area_begin();
}

int area_came(void)
{
	return 0;
}

int area_synced(void)
{
	return area_begin();
}

int area_renew(void)
{
	return area_begin();
}

uint64_t area_resident(void)
{
	return UINT64_MAX;
}

void area_end(void)
{
}
#endif
