/* map_read_cached -- read a cached file through a mapping and add up its numbers.
 *
 * Measures     adding up a whole file, mapped into memory, as numbers of 4 bytes: what a program
 *              gets that looks at its data without having it copied. With open=1 each operation
 *              also opens, maps, unmaps and closes the file, and its page faults are part of the
 *              time; otherwise they happen in setup. If `look` is more than 4, the program looks at
 *              one number of 4 bytes in every `look` bytes, and touches nothing else: open=1
 *              look=4096 measures only the system's part, each page once. Under Wine,
 *              CreateFileMapping, MapViewOfFile and UnmapViewOfFile.
 * Leaves out   the disk: setup wrote the file, and it is in the system's cache.
 * Beware       with open=0 the kernel takes no part: it measures the memory, or the processor's
 *              cache if the file fits into it. A file that does not fit into the system's cache
 *              measures the disk. The numbers are added four at once, by loads of 16 bytes
 *              (contents_sum). This is as fast as a build that loads and does not add, 1.01 [0.97,
 *              1.06] in 10 rounds, and 1.01 [0.98, 1.06] of the speed at which memory_read reads as
 *              much anonymous memory by such loads (bench/beside.py, 24 rounds, the peer "itself
 *              memory_read from=8388608 to=8388608 width=16"). The ancestor loads 8 bytes at a time
 *              into one sum. Compared with it this is 2.45 [2.29, 2.62] times as fast, and a build
 *              with the ancestor's loop in place of contents_sum 1.04 [1.00, 1.22] times (10
 *              rounds). The sum is checked in every operation. file_read_cached is the counterpart.
 * After        bw_mmap_rd of lmbench (McVoy and Staelin, 1996); open=1 is its "open2close".
 */
#include "../api/workload.h"
#include "contents.h"

enum { BLOCK = 65536 }; /* in which the file is made */

static uint64_t  size = 8388608, open_each, look = 4;
static uint64_t  passes; /* done, of which the place in a page follows */
static uint32_t  expected;
static uint32_t *mapping;
static handle    file = NO_HANDLE;

static int map(void)
{
	int outcome = contents_open(&file);

	if (outcome)
		return outcome;
	mapping = handle_map(file, size);
	return mapping ? 0 : fail("mapping the file");
}

static int unmap(void)
{
	if (handle_unmap(mapping, size))
		return fail("unmapping the file");
	mapping = NULL;
	if (handle_close(file))
		return fail("close");
	file = NO_HANDLE;
	return 0;
}

/* Entered once an operation: a test counts that. */
__attribute__((noinline)) int map_read_cached(void);
__attribute__((noinline)) int map_read_cached(void)
{
	const size_t   count = size / sizeof(uint32_t);
	const uint64_t step = look / sizeof(uint32_t);
	uint32_t       sum;

	if (look != sizeof(uint32_t)) {
		if (contents_difference(mapping, 0, count, passes++ % step, step))
			return fail_check("pass %llu showed other numbers",
			                  (unsigned long long)passes);
		return 0;
	}
	sum = contents_sum(mapping, count);
	return sum == expected ? 0 : fail_check("the sum is %u, not %u", sum, expected);
}

static int setup(void)
{
	int outcome;

	if (size % sizeof(uint32_t))
		return fail_check("size is not a multiple of 4");
	if (look % sizeof(uint32_t))
		return fail_check("look is not a multiple of 4");
	if ((outcome = contents_make(size, BLOCK)))
		return outcome;
	expected = contents_expected_sum(size);
	if (open_each)
		return 0;
	if ((outcome = map()))
		return outcome;
	keep(contents_sum(mapping, size / sizeof(uint32_t)));
	return 0;
}

static int open_to_close(void)
{
	int outcome = map();

	if (!outcome)
		outcome = map_read_cached();
	return outcome ? outcome : unmap();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = open_each ? open_to_close() : map_read_cached();
	return outcome;
}

static void teardown(void)
{
	if (mapping)
		handle_unmap(mapping, size);
	if (file != NO_HANDLE)
		handle_close(file);
	contents_remove();
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the file, a multiple of 4", &size, 512, UINT64_C(1) << 40),
	NUMBER("look", "bytes between the numbers that are read, a multiple of 4; 4: add up all",
	       &look, 4, BLOCK),
	NUMBER("open", "1: open, map, unmap and close the file in each operation", &open_each, 0,
	       1),
	{ 0 },
};

const struct workload workload_map_read_cached = {
	.name = "map_read_cached",
	.group = "file",
	.summary = "a cached file, read through a mapping and added up",
	.operation = "pass over the file",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &size,
	.counted = (void (*)(void))map_read_cached,
};
