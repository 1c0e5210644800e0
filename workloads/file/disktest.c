/* disktest -- write a file of 1000 records, read it in order, read it at random.
 *
 * Measures     three metrics, as in the paper, each for a pass of 1000 records of 512 bytes with
 *              one system call per record: creating and writing the file; reading it from the
 *              beginning; a seek and a read for each record in a random order, the same in every
 *              trial. Under Wine, the calls are WriteFile, ReadFile and SetFilePointerEx.
 * Leaves out   the disk: nothing is flushed, so half a megabyte stays in the system's cache. The
 *              paper says so too: the number of buffers decides.
 * Beware       half of what is measured is the file system of the working directory; the system's
 *              fingerprint names it. Each record read must be the one asked for.
 * After        Disktest of the PEGASUS paper (Silva).
 */
#include "../api/handle.h"
#include "../api/workload.h"

enum { RECORDS = 1000, RECORD_BYTES = 512 };

static const name_letter name[] = NAME("disktest");

static struct {
	uint32_t record[RECORD_BYTES / sizeof(uint32_t)];
	uint32_t order[RECORDS];
	handle   file;
} s = { .file = NO_HANDLE };

static int setup(void)
{
	random_order(s.order, RECORDS);
	return handle_begin();
}

static int write_pass(void)
{
	if (s.file != NO_HANDLE)
		handle_close(s.file);
	s.file = handle_open(name, HANDLE_EMPTY);
	if (s.file == NO_HANDLE)
		return fail("opening the file");
	for (uint32_t i = 0; i < RECORDS; i++) {
		ssize_t put;

		s.record[0] = s.record[RECORD_BYTES / sizeof(uint32_t) - 1] = i;
		put = handle_write(s.file, s.record, RECORD_BYTES);
		if (put < 0)
			return fail("write");
		if (put != RECORD_BYTES)
			return fail_check("%zd of %d bytes written", put, RECORD_BYTES);
	}
	return 0;
}

static int read_one(uint32_t expected)
{
	ssize_t got = handle_read(s.file, s.record, RECORD_BYTES);

	if (got < 0)
		return fail("read");
	if (got != RECORD_BYTES)
		return fail_check("%zd of %d bytes read", got, RECORD_BYTES);
	if (s.record[0] != expected || s.record[RECORD_BYTES / sizeof(uint32_t) - 1] != expected)
		return fail_check("record %u read in place of record %u", s.record[0], expected);
	return 0;
}

static int read_in_order_pass(void)
{
	int outcome;

	if (handle_seek(s.file, 0))
		return fail("seeking");
	for (uint32_t i = 0; i < RECORDS; i++)
		if ((outcome = read_one(i)))
			return outcome;
	return 0;
}

static int read_at_random_pass(void)
{
	int outcome;

	for (uint32_t i = 0; i < RECORDS; i++) {
		if (handle_seek(s.file, (uint64_t)s.order[i] * RECORD_BYTES))
			return fail("seeking");
		if ((outcome = read_one(s.order[i])))
			return outcome;
	}
	return 0;
}

static int passes(uint64_t operations, int (*pass)(void))
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = pass();
	return outcome;
}

static int write_records(uint64_t operations)
{
	return passes(operations, write_pass);
}

static int read_in_order(uint64_t operations)
{
	return passes(operations, read_in_order_pass);
}

static int read_at_random(uint64_t operations)
{
	return passes(operations, read_at_random_pass);
}

static void teardown(void)
{
	if (s.file == NO_HANDLE)
		return;
	handle_close(s.file);
	handle_remove(name);
}

static const struct phase phases[] = {
	{ .metric = "write", .run = write_records },
	{ .metric = "read_in_order", .run = read_in_order },
	{ .metric = "read_at_random", .run = read_at_random },
	{ 0 },
};

static const struct call calls[] = { { "write", 1000 }, { "read", 2000 }, { "lseek", 1001 }, { 0 } };

const struct workload workload_disktest = {
	.name = "disktest",
	.group = "file",
	.summary = "1000 records of 512 bytes written, read in order, read at random",
	.operation = "pass of 1000 records",
	.setup = setup,
	.phases = phases,
	.teardown = teardown,
	.calls = calls,
};
