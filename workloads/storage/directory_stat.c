/* directory_stat -- ask for the status of many files of one directory.
 *
 * Measures     stat of each of `files` empty files, in the order of their names or in a random one:
 *              walking to the name, and filling in what is known of the file.
 * Leaves out   the device: the files were made shortly before, and what is known of them is in
 *              memory. Only a file system that was mounted afresh could be asked for the first
 *              time.
 * Beware       what the system caches of names decides, not the file system, as long as memory
 *              lasts. Each must be a file, and empty.
 * After        Bonnie++ ("Stat"; Coker), whose phase is too short to print on today's machines.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entries.h"

static int run(uint64_t operations)
{
	char        name[ENTRY_NAME];
	struct stat about;

	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      failed = stat(entries_name(i, name), &about);

		lane_ended(&meter_lanes[0], began);
		if (failed)
			return fail("stat");
		if (!S_ISREG(about.st_mode) || about.st_size)
			return fail_check("%s is no empty file", name);
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { ENTRIES_PARAMETERS, { 0 } };

static const struct call calls[] = { { "newfstatat", 1 }, { 0 } };

const struct workload workload_directory_stat = {
	.name = "directory_stat",
	.group = "storage",
	.summary = "the status of many files of one directory (stat)",
	.operation = "file",
	.setup = entries_begin,
	.before = entries_before_asking,
	.phases = phases,
	.teardown = entries_end,
	.parameters = parameters,
	.performances = 3,
	.pass = &entries_count,
	.calls = calls,
};
