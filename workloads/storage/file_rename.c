/* file_rename -- give a file another name in the same directory.
 *
 * Measures     rename of one file to a name that is free, and the next time back: an entry made and
 *              one removed, in one piece.
 * Leaves out   the device: nothing is flushed. Renaming over a file, as editors do to replace it.
 * Beware       a journal is filled, and written down some time: perhaps in another batch.
 * After        rename as Maildir uses it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "entries.h"

static const char *const names[] = { "one", "other" };

static int setup(void)
{
	int outcome = entries_begin(), file;

	if (outcome)
		return outcome;
	file = open(names[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return fail("creating a file");
	return close(file) ? fail("close") : 0;
}

static int run(uint64_t operations)
{
	static unsigned now;

	for (; operations--; now = !now) {
		uint64_t began = lane_began(&meter_lanes[0]);
		int      failed = rename(names[now], names[!now]);

		lane_ended(&meter_lanes[0], began);
		if (failed)
			return fail("rename");
	}
	return 0;
}

static void teardown(void)
{
	unlink(names[0]);
	unlink(names[1]);
	entries_end();
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { BESIDE_PARAMETER, { 0 } };

static const struct call calls[] = { { "rename", 1 }, { 0 } };

const struct workload workload_file_rename = {
	.name = "file_rename",
	.group = "storage",
	.summary = "a file given another name (rename)",
	.operation = "rename",
	.setup = setup,
	.before = entries_before,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
