/* file_mapped_write -- change a large file at random through a mapping.
 *
 * Measures     a number written into each block of `block` bytes, in a random order, of a file that
 *              was mapped afresh: a fault for each page, which brings it and marks it as changed;
 *              then msync, which brings all to the device, unless `sync` is 0. Mapping and
 *              unmapping are in it.
 * Leaves out   finding room, except where a file system never overwrites (btrfs).
 * Beware       cold: each page is read before it is changed. A full disk or a lost device would
 *              kill the trial (SIGBUS).
 * After        fio's mmap engine.
 */
#include <string.h>
#include <sys/mman.h>

#include "random.h"

static unsigned char *mapping;

static int setup(void)
{
	return phase_begin_cached(O_RDWR, "a mapping is the cache");
}

static int map_whole(void)
{
	mapping = mmap(NULL, area_size, PROT_READ | PROT_WRITE, MAP_SHARED, phase_file, 0);
	if (mapping == MAP_FAILED) {
		mapping = NULL;
		return fail("mmap");
	}
	return madvise(mapping, area_size, MADV_RANDOM) ? fail("madvise") : 0;
}

/* Entered once an operation: a test counts that. */
APART void file_mapped_write(uint64_t block);
APART void file_mapped_write(uint64_t block)
{
	volatile unsigned char *changed = mapping + block * area_block + sizeof(uint64_t);

	(*changed)++;
}

static int run(uint64_t operations)
{
	int outcome = map_whole();

	for (uint64_t i = 0; i < operations && !outcome; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);

		file_mapped_write(random_block(i));
		lane_ended(&meter_lanes[0], began);
	}
	if (!outcome && phase_sync && msync(mapping, area_size, MS_SYNC))
		outcome = fail("msync");
	if (mapping && munmap(mapping, area_size) && !outcome)
		outcome = fail("munmap");
	mapping = NULL;
	return outcome;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	SYNC_PARAMETER,
	{ 0 },
};

const struct workload workload_file_mapped_write = {
	.name = "file_mapped_write",
	.group = "storage",
	.summary = "a large file changed at random through a mapping",
	.operation = "block",
	.setup = setup,
	.before = phase_before_writing,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.performances = 3,
	.pass = &area_blocks,
	.counted = (void (*)(void))file_mapped_write,
};
