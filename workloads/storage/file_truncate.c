/* file_truncate -- cut a file, block by block from its end.
 *
 * Measures     ftruncate to `block` bytes less, of a file with that room: giving blocks back in
 *              memory, and throwing away what the cache has of them.
 * Leaves out   making the file, before each batch: its room is found (fallocate), or where that is
 *              missing it is written.
 * Beware       what is given back may be written down, and told to the device, later.
 * After        ftruncate as databases and logs use it.
 */
#include <errno.h>

#include "phase.h"

static uint64_t blocks; /* that the file has */

static int setup(void)
{
	return phase_begin_empty(O_RDWR);
}

static int before(uint64_t operations)
{
	meter_close();
	if ((errno = posix_fallocate(phase_file, 0, (off_t)(operations * area_block))))
		return fail("posix_fallocate");
	if (fsync(phase_file))
		return fail("fsync");
	blocks = operations;
	meter_open(operations, UINT64_MAX);
	return 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      failed = ftruncate(phase_file, (off_t)(--blocks * area_block));

		lane_ended(&meter_lanes[0], began);
		if (failed)
			return fail("ftruncate");
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	NUMBER("block", "bytes, a multiple of 512", &area_block, 512, AREA_BLOCK_MOST),
	{ 0 },
};

static const struct call calls[] = { { "ftruncate", 1 }, { 0 } };

const struct workload workload_file_truncate = {
	.name = "file_truncate",
	.group = "storage",
	.summary = "a file cut block by block (ftruncate)",
	.operation = "block",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.calls = calls,
};
