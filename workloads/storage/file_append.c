/* file_append -- append records to a file.
 *
 * Measures     write of `block` bytes at the end of a file that is open with O_APPEND: copying into
 *              the cache, and setting a new size, as a log does that is not synced.
 * Leaves out   the disk: nothing is flushed (file_commit with append=1 does). Finding room, where
 *              that is put off.
 * Beware       the file is cut to nothing before each batch, and what the system put off may be
 *              done in a later one.
 * After        the logs of servers; fio has no such test of its own.
 */
#include "phase.h"

static int setup(void)
{
	return phase_begin_empty(O_WRONLY | O_APPEND);
}

static int run(uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		ssize_t  put = write(phase_file, filler_block(&area_filler, i), area_block);
		int      outcome = area_whole(put, "write");

		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	NUMBER("block", "bytes in a record, a multiple of 512", &area_block, 512, AREA_BLOCK_MOST),
	{ 0 },
};

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_file_append = {
	.name = "file_append",
	.group = "storage",
	.summary = "records appended to a file",
	.operation = "record",
	.setup = setup,
	.before = phase_before_empty,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.calls = calls,
};
