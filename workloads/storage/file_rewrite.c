/* file_rewrite -- read a large file block by block, change each block, and write it back.
 *
 * Measures     read, a seek back and write of each block of `block` bytes, from beginning to end;
 *              then fsync, unless `sync` is 0. `cache` says where the data are before a pass, as
 *              for file_sequential_read.
 * Leaves out   finding room, except where a file system never overwrites (btrfs).
 * Beware       with cache=warm only the writing reaches the device, and Bonnie++'s name for it,
 *              data transfer, would mislead. One byte of each block changes.
 * After        Bonnie++ ("Sequential Output, Rewrite"; Coker).
 */
#include "phase.h"

static int setup(void)
{
	return phase_begin(O_RDWR, 1);
}

static int rewrite(uint64_t number)
{
	int outcome = area_whole(read(phase_file, phase_room, area_block), "read");

	if (outcome || (outcome = area_check(phase_room, number)))
		return outcome;
	((unsigned char *)phase_room)[sizeof(uint64_t)]++;
	if (lseek(phase_file, -(off_t)area_block, SEEK_CUR) < 0)
		return fail("lseek");
	return area_whole(write(phase_file, phase_room, area_block), "write");
}

static int run(uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t number = i % area_blocks, began = lane_began(&meter_lanes[0]);
		int      outcome = rewrite(number);

		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
		if (number + 1 == area_blocks && lseek(phase_file, 0, SEEK_SET))
			return fail("lseek");
	}
	return phase_synced();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "read", 1 }, { "write", 1 }, { 0 } };

const struct workload workload_file_rewrite = {
	.name = "file_rewrite",
	.group = "storage",
	.summary = "a large file read, changed and written back in blocks",
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
