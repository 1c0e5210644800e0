/* file_read_cached -- read a cached file by read and add up what it holds.
 *
 * Measures     reading a whole file by read in blocks of 65536 bytes, and adding up each block as
 *              numbers of 4 bytes while it is in the processor's cache: what a program gets that
 *              looks at its data. With open=1 each operation opens and closes the file besides. On
 *              Windows by ReadFile, SetFilePointerEx, CreateFile and CloseHandle.
 * Leaves out   the disk: the file was written in setup and is in the system's cache.
 * Beware       a file that the system's cache has no room for measures the disk. The numbers are
 *              added one by one, which no compiler may change (contents_sum), or it would be part
 *              of what is measured. The sum is checked in every operation. map_read_cached is its
 *              counterpart.
 * After        bw_file_rd of lmbench (McVoy and Staelin, 1996); "open2close" by open=1.
 */
#include "../workload.h"
#include "contents.h"

enum { BLOCK = 65536 };

static uint64_t size = 8388608, open_each;
static uint32_t expected;
static handle   file = NO_HANDLE;

static int setup(void)
{
	int outcome;

	if (size % sizeof(uint32_t))
		return fail_check("size is not a multiple of 4");
	outcome = contents_make(size, BLOCK);
	expected = contents_expected_sum(size);
	return outcome || open_each ? outcome : contents_open(&file);
}

static int read_and_add(void)
{
	uint32_t sum = 0;

	for (uint64_t left = size; left;) {
		size_t  wanted = left < BLOCK ? left : BLOCK;
		ssize_t got = handle_read(file, contents_room, wanted);

		if (got < 0)
			return fail("read");
		if ((size_t)got != wanted)
			return fail_check("%zd of %zu bytes read", got, wanted);
		sum += contents_sum(contents_room, wanted / sizeof(uint32_t));
		left -= wanted;
	}
	return sum == expected ? 0 : fail_check("the sum is %u, not %u", sum, expected);
}

static int pass(void)
{
	int outcome;

	if (!open_each) {
		if (handle_seek(file, 0))
			return fail("seeking");
		return read_and_add();
	}
	if ((outcome = contents_open(&file)))
		return outcome;
	if ((outcome = read_and_add()))
		return outcome;
	if (handle_close(file))
		return fail("close");
	file = NO_HANDLE;
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = pass();
	return outcome;
}

static void teardown(void)
{
	if (file != NO_HANDLE)
		handle_close(file);
	contents_remove();
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the file, a multiple of 4", &size, 512, UINT64_C(1) << 40),
	NUMBER("open", "1: open and close the file in each operation", &open_each, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "read", 128 }, { "lseek", 1 }, { 0 } };

const struct workload workload_file_read_cached = {
	.name       = "file_read_cached",
	.group      = "file",
	.summary    = "a cached file read by read and added up",
	.operation  = "pass over the file",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.bytes      = &size,
	.calls      = calls,
};
