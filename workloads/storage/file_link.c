/* file_link -- give a file a second name, and take it away.
 *
 * Measures     link of a file in its own directory, and unlink of the new name.
 * Leaves out   the device: nothing is flushed.
 * Beware       as file_rename.
 * After        link as mail servers use it to lock, and Maildir to deliver.
 */
#include <fcntl.h>
#include <unistd.h>

#include "entries.h"

static int setup(void)
{
	int outcome = entries_begin(), file;

	if (outcome)
		return outcome;
	file = open("one", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return fail("creating a file");
	return close(file) ? fail("close") : 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		uint64_t began = lane_began(&meter_lanes[0]);

		if (link("one", "other"))
			return fail("link");
		if (unlink("other"))
			return fail("unlink");
		lane_ended(&meter_lanes[0], began);
	}
	return 0;
}

static void teardown(void)
{
	unlink("other");
	unlink("one");
	entries_end();
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { BESIDE_PARAMETER, { 0 } };

static const struct call calls[] = { { "link", 1 }, { "unlink", 1 }, { 0 } };

const struct workload workload_file_link = {
	.name = "file_link",
	.group = "storage",
	.summary = "adding and removing a second name of a file (link, unlink)",
	.operation = "link",
	.setup = setup,
	.before = entries_before,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
