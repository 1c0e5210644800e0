/* directory_list -- list a directory of many files.
 *
 * Measures     opendir, readdir until the end, and closedir, of a directory of `files` empty files.
 * Leaves out   asking for the status of each (directory_stat). The device: the directory is in
 *              memory.
 * Beware       the C library reads entries in pieces of 32 KiB, or less. As many entries must come
 *              as there are files.
 * After        ls -U.
 */
#include <dirent.h>
#include <errno.h>

#include "entries.h"

static uint64_t expected;

/* Entered once an operation: a test counts that. */
APART int directory_list(void);
APART int directory_list(void)
{
	DIR     *directory = opendir(".");
	uint64_t found = 0;

	if (!directory)
		return fail("opendir");
	for (errno = 0; readdir(directory); found++)
		;
	if (errno) {
		closedir(directory);
		return fail("readdir");
	}
	if (closedir(directory))
		return fail("closedir");
	return found == expected
	               ? 0
	               : fail_check("%llu entries were listed, not %llu", (unsigned long long)found,
	                            (unsigned long long)expected);
}

static int before(uint64_t operations)
{
	expected = entries_count + 2; /* and the directory itself, and the one above */
	return entries_shared ? fail_check("shared is 1, but copies that come and go change what "
	                                   "is listed")
	                      : entries_before_asking(operations);
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		uint64_t began = lane_began(&meter_lanes[0]);

		outcome = directory_list();
		lane_ended(&meter_lanes[0], began);
	}
	return outcome;
}

static const struct phase phases[] = { { .metric = "time", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	NUMBER("files", "in the directory", &entries_count, 1, ENTRIES_MOST),
	{ 0 },
};

const struct workload workload_directory_list = {
	.name = "directory_list",
	.group = "storage",
	.summary = "a directory of many files listed (readdir)",
	.operation = "pass over the directory",
	.setup = entries_begin,
	.before = before,
	.phases = phases,
	.teardown = entries_end,
	.parameters = parameters,
	.counted = (void (*)(void))directory_list,
};
