/* file_sequential_read -- read a large file from beginning to end, block by block, from where its
 * data are.
 *
 * Measures     read on a file of `size` bytes in blocks of `block`, from this system's cache
 *              (`cache` is warm), from the device with what the system reads ahead (cold), past the
 *              cache (direct), or from both, because the file is twice as large as memory
 *              (limited). A batch is a pass over the file.
 * Leaves out   bringing the data to where they shall be, which is done before each pass and
 *              checked: of a cold file at most 0.5 % may be in the cache, and 99 % of what is read
 *              must come from the device.
 * Beware       cold empties the cache of the file's data alone: where its blocks lie is still
 *              known. What lies below this system has caches of its own: a virtual disk is often a
 *              file in its host's memory. Cold reads measure the read-ahead (read_ahead_kb of the
 *              device) as much as the disk. Each block's number is checked.
 * After        Bonnie++ ("Sequential Input, Block"; Coker), which reads what its writing left in
 *              the cache.
 */
#include "phase.h"

static int setup(void)
{
	return phase_begin(O_RDONLY, 1);
}

static int run(uint64_t operations)
{
	for (uint64_t i = 0, number = 0; i < operations; i++, number++) {
		uint64_t began;
		int      outcome;

		if (number == area_blocks) {
			number = 0;
			if (lseek(phase_file, 0, SEEK_SET))
				return fail("lseek");
		}
		began = lane_began(&meter_lanes[0]);
		outcome = area_whole(read(phase_file, phase_room, area_block), "read");
		lane_ended(&meter_lanes[0], began);
		if (outcome || (outcome = area_check(phase_room, number)))
			return outcome;
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { AREA_PARAMETERS, { 0 } };

static const struct call calls[] = { { "read", 1 }, { 0 } };

const struct workload workload_file_sequential_read = {
	.name = "file_sequential_read",
	.group = "storage",
	.summary = "a large file read from beginning to end in blocks",
	.operation = "block",
	.setup = setup,
	.before = phase_before_reading,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
