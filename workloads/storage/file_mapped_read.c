/* file_mapped_read -- read a large file at random through a mapping.
 *
 * Measures     the first 8 bytes of each block of `block` bytes, in a random order, of a file that
 *              was mapped afresh: a fault for each page that is not mapped yet, which brings it
 *              from the cache (`cache` is warm) or from the device (cold). Mapping and unmapping
 *              are in it.
 * Leaves out   reading ahead, which madvise(RANDOM) switches off.
 * Beware       a warm fault maps the neighbours that are in the cache as well, so that with blocks
 *              of a page only every sixteenth faults. Each number is checked.
 * After        fio's mmap engine.
 */
#include <string.h>
#include <sys/mman.h>

#include "random.h"

static unsigned char *mapping;

static int setup(void)
{
	return phase_begin_cached(O_RDONLY, "a mapping is the cache");
}

/* The data of neighbours come along on the way to the device only if they are asked for. */
static int map_whole(void)
{
	mapping = mmap(NULL, area_size, PROT_READ, MAP_SHARED, phase_file, 0);
	if (mapping == MAP_FAILED) {
		mapping = NULL;
		return fail("mmap");
	}
	return madvise(mapping, area_size, MADV_RANDOM) ? fail("madvise") : 0;
}

/* Entered once an operation: a test counts that. */
APART int file_mapped_read(uint64_t block);
APART int file_mapped_read(uint64_t block)
{
	return area_check(mapping + block * area_block, block);
}

static int run(uint64_t operations)
{
	int outcome = map_whole();

	for (uint64_t i = 0; i < operations && !outcome; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);

		outcome = file_mapped_read(random_block(i));
		lane_ended(&meter_lanes[0], began);
	}
	if (mapping && munmap(mapping, area_size) && !outcome)
		outcome = fail("munmap");
	mapping = NULL;
	return outcome;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { AREA_PARAMETERS, { 0 } };

const struct workload workload_file_mapped_read = {
	.name = "file_mapped_read",
	.group = "storage",
	.summary = "a large file read at random through a mapping",
	.operation = "block",
	.setup = setup,
	.before = phase_before_writing,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.performances = 3,
	.pass = &area_blocks,
	.counted = (void (*)(void))file_mapped_read,
};
