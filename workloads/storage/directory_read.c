/* directory_read -- read many small files of one directory, each from beginning to end.
 *
 * Measures     for each of `files` files of `size` bytes, in the order of their names or in a
 *              random one: open, one read of the whole, and close.
 * Leaves out   the device: the files were written shortly before, and are in memory. Making and
 *              removing them. The search for what there is (directory_list).
 * Beware       what the system caches of names and of pages decides, not the file system, as long
 *              as memory lasts. The first and the last four bytes of each file must be its
 *              number's. The same files are read in each pass, at the same places.
 * After        the list of lmbench's tests in Korunić's comparison: MB a second when many small
 *              files are read in place.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "entries.h"

static uint64_t       size = 4096;
static unsigned char *room;

static int setup(void)
{
	int outcome = entries_begin();

	entries_size = size;
	if (outcome)
		return outcome;
	room = malloc(size);
	return room ? 0 : fail("malloc");
}

static int read_one(const char *name)
{
	int     file = open(name, O_RDONLY | O_CLOEXEC), outcome = 0;
	ssize_t got;

	if (file < 0)
		return fail("opening a file");
	got = read(file, room, size);
	if (got < 0)
		outcome = fail("read");
	else if ((uint64_t)got != size)
		outcome = fail_check("%zd of %llu bytes read", got, (unsigned long long)size);
	if (close(file) && !outcome)
		outcome = fail("close");
	return outcome;
}

static int run(uint64_t operations)
{
	char name[ENTRY_NAME];
	int  outcome = 0;

	for (uint64_t i = 0; i < operations && !outcome; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);

		outcome = read_one(entries_name(i, name));
		lane_ended(&meter_lanes[0], began);
		if (!outcome)
			outcome = entries_check(room, entries_number(i));
	}
	return outcome;
}

static void teardown(void)
{
	free(room);
	entries_end();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	ENTRIES_PARAMETERS,
	NUMBER("size", "bytes in a file", &size, 8, ENTRY_SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "openat", 1 }, { "read", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_directory_read = {
	.name = "directory_read",
	.group = "storage",
	.summary = "many small files of one directory read",
	.operation = "file",
	.setup = setup,
	.before = entries_before_asking,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &size,
	.performances = 3,
	.pass = &entries_count,
	.calls = calls,
};
