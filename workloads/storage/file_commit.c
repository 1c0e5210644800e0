/* file_commit -- write a block of a file and wait until it is on the device.
 *
 * Measures     what a database waits for: pwrite of `block` bytes, and then what `method` names:
 *              fsync, fdatasync, or dsync, a file that is open with O_DSYNC. With append=1 the
 *              blocks go to the end of a file that grows, so that its new size must be written too;
 *              else each in turn overwrites one of a file of `size` bytes. cache=direct writes past
 *              the cache.
 * Leaves out   the room, with append=0: the file has it all. The file is cut to nothing before each
 *              batch with append=1.
 * Beware       a virtual disk, or one with a battery or a lie, may answer before anything is on the
 *              medium. fsync commits the journal with what others have changed. One commit at a
 *              time: with copies they share commits.
 * After        pg_test_fsync of PostgreSQL, and fio's fsync=1.
 */
#include <string.h>

#include "phase.h"

static char     method[16] = "fsync";
static uint64_t is_appending, next;

static int setup(void)
{
	int how = 0;

	if (!strcmp(method, "dsync"))
		how = O_DSYNC;
	else if (strcmp(method, "fsync") && strcmp(method, "fdatasync"))
		return fail_check("method is '%s', and must be fsync, fdatasync or dsync", method);
	return phase_begin(O_RDWR | how, 1);
}

static int before(uint64_t operations)
{
	next = 0;
	return is_appending ? phase_before_empty(operations) : phase_before_writing(operations);
}

static int commit(uint64_t number)
{
	const void *from = filler_block(&area_filler, number);
	ssize_t     put = pwrite(phase_file, from, area_block, (off_t)(number * area_block));
	int         outcome = area_whole(put, "pwrite");

	if (outcome || method[0] == 'd')
		return outcome;
	return (method[1] == 'd' ? fdatasync(phase_file) : fsync(phase_file)) ? fail(method) : 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      outcome = commit(is_appending ? next : next % area_blocks);

		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
		next++;
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	STRING("method", "way to commit: fsync, fdatasync or dsync", method, sizeof(method) - 1),
	NUMBER("append", "1: each block makes the file longer", &is_appending, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "pwrite64", 1 }, { "fsync", 1 }, { 0 } };

const struct workload workload_file_commit = {
	.name = "file_commit",
	.group = "storage",
	.summary = "a block written and brought to the device",
	.operation = "commit",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.calls = calls,
};
