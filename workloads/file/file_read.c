/* file_read -- read a file from beginning to end, block by block.
 *
 * Measures     read on a file: finding its pages in the system's cache and copying them out.
 *              Between two passes there is a seek to the beginning. Under Wine, ReadFile and
 *              SetFilePointerEx.
 * Leaves out   the disk: setup wrote the file, and it stays in the system's cache as long as there
 *              is room. Using the data: file_read_cached with look=4 adds it up.
 * Beware       a file larger than memory measures the disk. The first and the last number of each
 *              block are checked. One buffer receives every block; a block larger than the
 *              processor's caches is written to memory.
 * After        lmdd of lmbench (McVoy and Staelin, 1996).
 */
#include "passes.h"

static int pass_block(void)
{
	const uint64_t last = block / sizeof(uint32_t) - 1, place = at / sizeof(uint32_t);
	ssize_t        got = handle_read(file, contents_room, block);

	if (got < 0)
		return fail("read");
	if ((uint64_t)got != block)
		return fail_check("%zd of %llu bytes read", got, (unsigned long long)block);
	if (contents_room[0] != contents_number(place) ||
	    contents_room[last] != contents_number(place + last))
		return fail_check("the block at %llu is another", (unsigned long long)at);
	return advance();
}

static const struct call calls[] = { { "read", 1 }, { 0 } };

const struct workload workload_file_read = {
	.name = "file_read",
	.group = "file",
	.summary = "a file read from beginning to end in blocks",
	.operation = "block",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &block,
	.calls = calls,
};
