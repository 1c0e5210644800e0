/* directory_delete -- delete many files of one directory.
 *
 * Measures     unlink of each of `files` empty files, in the order of their names or in a random
 *              one; then syncfs, which brings that to the device, unless `sync` is 0.
 * Leaves out   creating the files, before each pass; the directory is empty at its end.
 * Beware       as directory_create. The room of removed files may be given back later, by the
 *              system's own threads: `machine` counts that as far as it falls into the batch.
 * After        Bonnie++ ("Delete"; Coker).
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
		int      failed = unlink(entries_name(i, name));

		lane_ended(&meter_lanes[0], began);
		if (failed)
			return fail("unlink");
		entries_removed();
	}
	return entries_synced();
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	ENTRIES_PARAMETERS,
	ENTRIES_SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "unlink", 1 }, { 0 } };

const struct workload workload_directory_delete = {
	.name = "directory_delete",
	.group = "storage",
	.summary = "many files of one directory deleted",
	.operation = "file",
	.setup = entries_begin,
	.before = entries_before_removing,
	.phases = phases,
	.teardown = entries_end,
	.parameters = parameters,
	.performances = 3,
	.pass = &entries_count,
	.calls = calls,
};
