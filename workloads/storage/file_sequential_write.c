/* file_sequential_write -- write a new large file from beginning to end, block by block.
 *
 * Measures     creating a file, and write on it in blocks of `block` until it has `size` bytes,
 *              with finding room for them; then fsync, with what the system had put off until then,
 *              unless `sync` is 0; and close. `cache` is warm (through the cache), direct (past
 *              it), or limited (the file is twice as large as memory).
 * Leaves out   removing the file of the last pass, before the next one.
 * Beware       with sync=0 most of it is writing into memory, and room is found later (delayed
 *              allocation): two systems then differ in what they put off. The data are random, so
 *              none is compressed or left out as zeros. Latencies are those of write, without the
 *              fsync. A journal writes what others have changed, too.
 * After        Bonnie++ ("Sequential Output, Block"; Coker), which syncs at the end since 1.90.
 */
#include "phase.h"

static int write_blocks(uint64_t operations)
{
	for (uint64_t i = 0, number = 0; i < operations; i++, number++) {
		uint64_t began;
		ssize_t  put;
		int      outcome;

		if (number == area_blocks) {
			number = 0;
			if (lseek(phase_file, 0, SEEK_SET))
				return fail("lseek");
		}
		began = lane_began(&meter_lanes[0]);
		put = write(phase_file, filler_block(&area_filler, number), area_block);
		outcome = area_whole(put, "write");
		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = area_open(O_WRONLY | O_CREAT | O_EXCL, &phase_file);

	if (outcome || (outcome = write_blocks(operations)))
		return outcome;
	return phase_closed();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { AREA_PARAMETERS, SYNC_PARAMETER, { 0 } };

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_file_sequential_write = {
	.name = "file_sequential_write",
	.group = "storage",
	.summary = "a new large file written from beginning to end in blocks",
	.operation = "block",
	.setup = phase_begin_new,
	.before = phase_before_new,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
