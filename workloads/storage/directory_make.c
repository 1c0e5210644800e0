/* directory_make -- make a directory and remove it.
 *
 * Measures     mkdir and rmdir of one name: an inode, an entry and the first block of a directory,
 *              made and given back.
 * Leaves out   the device: nothing is flushed.
 * Beware       the same number is often taken again, so this is the best case.
 * After        mkdir and rmdir; Bonnie++ has no such phase.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entries.h"

static int run(uint64_t operations)
{
	while (operations--) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      failed = mkdir("directory", 0700);

		if (failed)
			return fail("mkdir");
		failed = rmdir("directory");
		lane_ended(&meter_lanes[0], began);
		if (failed)
			return fail("rmdir");
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { BESIDE_PARAMETER, { 0 } };

static const struct call calls[] = { { "mkdir", 1 }, { "rmdir", 1 }, { 0 } };

const struct workload workload_directory_make = {
	.name = "directory_make",
	.group = "storage",
	.summary = "a directory made and removed",
	.operation = "directory",
	.setup = entries_begin,
	.before = entries_before,
	.phases = phases,
	.teardown = entries_end,
	.parameters = parameters,
	.calls = calls,
};
