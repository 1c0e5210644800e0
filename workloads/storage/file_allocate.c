/* file_allocate -- have room found for a file that grows (fallocate).
 *
 * Measures     fallocate of the next `block` bytes of a file: finding free blocks and writing down,
 *              in memory, that they belong to it.
 * Leaves out   data; and giving the room back, before each batch.
 * Beware       blocks are found next to those before, as long as there are any: that is an empty
 *              disk's case.
 * After        posix_fallocate as databases use it.
 */
#include <errno.h>

#include "phase.h"

static int setup(void)
{
	return phase_begin_empty(O_RDWR);
}

static int run(uint64_t operations)
{
#ifdef __linux__
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int failed = fallocate(phase_file, 0, (off_t)(i * area_block), (off_t)area_block);

		lane_ended(&meter_lanes[0], began);
		if (failed)
			return errno == EOPNOTSUPP || errno == ENOSYS
			               ? unsupported("there is no fallocate here")
			               : fail("fallocate");
	}
#else
	(void)operations;
#endif
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	NUMBER("block", "bytes, a multiple of 512", &area_block, 512, AREA_BLOCK_MOST),
	{ 0 },
};

static const struct call calls[] = { { "fallocate", 1 }, { 0 } };

const struct workload workload_file_allocate = {
	.name = "file_allocate",
	.group = "storage",
	.summary = "room found for a file that grows (fallocate)",
	.operation = "block",
	.setup = setup,
	.before = phase_before_empty,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.calls = calls,
};
