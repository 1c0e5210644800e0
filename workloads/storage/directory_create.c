/* directory_create -- create many files in one directory.
 *
 * Measures     open with O_CREAT and O_EXCL, and close, of `files` empty files, one after the
 *              other, in the order of their names or in a random one; then syncfs, which brings
 *              them all to the device, unless `sync` is 0.
 * Leaves out   data (file_create writes some). Removing the files, before each pass.
 * Beware       syncfs brings to the device what anybody has changed on the same file system.
 *              Latencies are without it. With sync=0 this is work in memory, and the directory
 *              grows as it goes. Names are eight digits of sixteen; what a hash of them costs
 *              differs from file system to file system. See file_create for what ext4 without a
 *              journal does.
 * After        Bonnie++ ("Sequential Create" and "Random Create"; Coker), which syncs the whole
 *              machine at the end.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entries.h"

static int run(uint64_t operations)
{
	char name[ENTRY_NAME];

	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      file = open(entries_name(i, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		                     0600);

		if (file < 0)
			return fail("creating a file");
		entries_made();
		if (close(file))
			return fail("close");
		lane_ended(&meter_lanes[0], began);
	}
	return entries_synced();
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	ENTRIES_PARAMETERS,
	ENTRIES_SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "openat", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_directory_create = {
	.name = "directory_create",
	.group = "storage",
	.summary = "many files created in one directory",
	.operation = "file",
	.setup = entries_begin,
	.before = entries_before_making,
	.phases = phases,
	.teardown = entries_end,
	.parameters = parameters,
	.performances = 3,
	.pass = &entries_count,
	.calls = calls,
};
