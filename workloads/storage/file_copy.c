/* file_copy -- copy a large file within one directory.
 *
 * Measures     copying a file block by block into a new one, by `method`: copy_file_range,
 *              sendfile, or read, which is read and write; then fsync, unless `sync` is 0. `cache`
 *              says where the source's data are.
 * Leaves out   removing the copy of the last pass.
 * Beware       copy_file_range need not copy: btrfs and xfs let both files share their blocks, and
 *              device_written says so. The copy's size is checked after each pass, and its last
 *              block.
 * After        cp of the GNU coreutils, which uses copy_file_range.
 */
#include <errno.h>
#include <string.h>
#ifdef __linux__
#include <sys/sendfile.h>
#endif

#include "phase.h"

static const char copied[] = "copy";

static char method[16] = "copy_file_range";
static int  copy = -1;

#ifdef __linux__
static ssize_t by_copy_file_range(void)
{
	return copy_file_range(phase_file, NULL, copy, NULL, area_block, 0);
}

static ssize_t by_sendfile(void)
{
	return sendfile(copy, phase_file, NULL, area_block);
}
#else
static ssize_t by_copy_file_range(void)
{
	errno = ENOSYS;
	return -1;
}
#define by_sendfile by_copy_file_range
#endif

static ssize_t by_read(void)
{
	ssize_t got = read(phase_file, phase_room, area_block);

	return got == (ssize_t)area_block ? write(copy, phase_room, area_block) : got;
}

static ssize_t (*copy_block)(void);

static int setup(void)
{
	if (!strcmp(method, "copy_file_range"))
		copy_block = by_copy_file_range;
	else if (!strcmp(method, "sendfile"))
		copy_block = by_sendfile;
	else if (!strcmp(method, "read"))
		copy_block = by_read;
	else
		return fail_check("method is '%s', and must be copy_file_range, sendfile or read",
		                  method);
	return phase_begin(O_RDONLY, 1);
}

static int remove_copy(void)
{
	if (copy >= 0)
		close(copy);
	copy = -1;
	return unlink(copied) && errno != ENOENT ? fail("unlink") : 0;
}

static int before(uint64_t operations)
{
	int outcome;

	meter_close();
	if ((outcome = remove_copy()) || (outcome = area_synced()))
		return outcome;
	copy = open(copied, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return copy < 0 ? fail("creating the copy") : phase_before_reading(operations);
}

static int check_copy(uint64_t number)
{
	ssize_t got = pread(copy, phase_room, area_block, (off_t)(number * area_block));
	int     outcome = area_whole(got, "pread");

	return outcome ? outcome : area_check(phase_room, number);
}

static int run(uint64_t operations)
{
	int outcome = 0;

	for (uint64_t i = 0; i < operations && !outcome; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		ssize_t  done = copy_block();

		lane_ended(&meter_lanes[0], began);
		if (done < 0 &&
		    (errno == ENOSYS || errno == EOPNOTSUPP || errno == EXDEV || errno == EINVAL))
			return unsupported("there is no %s of files here", method);
		outcome = area_whole(done, method);
		if ((i + 1) % area_blocks == 0 &&
		    (lseek(phase_file, 0, SEEK_SET) || lseek(copy, 0, SEEK_SET)))
			return fail("lseek");
	}
	if (!outcome && phase_sync && fsync(copy))
		outcome = fail("fsync");
	return outcome ? outcome : check_copy((operations - 1) % area_blocks);
}

static void teardown(void)
{
	remove_copy();
	phase_end();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	SYNC_PARAMETER,
	STRING("method", "copy_file_range, sendfile or read", method, sizeof(method) - 1),
	{ 0 },
};

static const struct call calls[] = { { "copy_file_range", 1 }, { 0 } };

const struct workload workload_file_copy = {
	.name = "file_copy",
	.group = "storage",
	.summary = "a large file copied within one directory",
	.operation = "block",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
