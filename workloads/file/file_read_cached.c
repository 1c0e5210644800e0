/* file_read_cached -- read a whole cached file by read, and look at the data.
 *
 * Measures     reading a whole file by read in blocks of 65536 bytes: finding its pages in the
 *              system's cache and copying them out. The program looks at one number of 4 bytes in
 *              every `look` bytes, by default 4096: one in each page, at a place that changes with
 *              every pass. With open=1 each operation also opens and closes the file. Under Wine,
 *              ReadFile, SetFilePointerEx, CreateFile and CloseHandle.
 * Leaves out   the disk: setup wrote the file, and it is in the system's cache.
 * Beware       a file that does not fit into the system's cache measures the disk. Every number
 *              that is looked at must be the known one. This costs less than 3 %: 1.00 [0.98, 1.03]
 *              of the speed with one look in 65536 bytes (bench/beside.py, 24 rounds, the peer
 *              "itself file_read_cached look=65536"). With look=4 all numbers are added up, four at
 *              once (contents_sum), and the sum is checked; this is what a program gets that uses
 *              all of its data. The ancestor adds up all, 8 bytes at once. Compared with it this is
 *              1.96 [1.80, 2.11] times as fast, and with look=4 1.33 [1.27, 1.48] times; a build
 *              with the ancestor's loop was still 1.36 [1.15, 1.59] times as fast (10 rounds), and
 *              the cause is not resolved. map_read_cached is the counterpart.
 * After        bw_file_rd of lmbench (McVoy and Staelin, 1996); open=1 is its "open2close".
 */
#include "../api/workload.h"
#include "contents.h"

enum { BLOCK = 65536 };

static uint64_t size = 8388608, open_each, look = 4096;
static uint64_t passes; /* done, of which the place in a page follows */
static uint32_t expected;
static handle   file = NO_HANDLE;

static int setup(void)
{
	int outcome;

	if (size % sizeof(uint32_t))
		return fail_check("size is not a multiple of 4");
	if (look % sizeof(uint32_t))
		return fail_check("look is not a multiple of 4");
	outcome = contents_make(size, BLOCK);
	expected = contents_expected_sum(size);
	return outcome || open_each ? outcome : contents_open(&file);
}

static int read_and_look(void)
{
	const uint64_t step = look / sizeof(uint32_t), from = passes % step;
	uint32_t       sum = 0, different = 0;

	for (uint64_t at = 0; at < size;) {
		size_t  wanted = size - at < BLOCK ? size - at : BLOCK;
		ssize_t got = handle_read(file, contents_room, wanted);

		if (got < 0)
			return fail("read");
		if ((size_t)got != wanted)
			return fail_check("%zd of %zu bytes read", got, wanted);
		if (look == sizeof(uint32_t))
			sum += contents_sum(contents_room, wanted / sizeof(uint32_t));
		else
			different |= contents_difference(contents_room, at / sizeof(uint32_t),
			                                 wanted / sizeof(uint32_t), from, step);
		at += wanted;
	}
	passes++;
	if (different)
		return fail_check("pass %llu brought other numbers", (unsigned long long)passes);
	if (look == sizeof(uint32_t) && sum != expected)
		return fail_check("the sum is %u, not %u", sum, expected);
	return 0;
}

static int pass(void)
{
	int outcome;

	if (!open_each) {
		if (handle_seek(file, 0))
			return fail("seeking");
		return read_and_look();
	}
	if ((outcome = contents_open(&file)))
		return outcome;
	if ((outcome = read_and_look()))
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
	NUMBER("look", "bytes between the numbers that are read, a multiple of 4; 4: add up all",
	       &look, 4, BLOCK),
	NUMBER("open", "1: open and close the file in each operation", &open_each, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "read", 128 }, { "lseek", 1 }, { 0 } };

const struct workload workload_file_read_cached = {
	.name = "file_read_cached",
	.group = "file",
	.summary = "a whole cached file read by read",
	.operation = "pass over the file",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
