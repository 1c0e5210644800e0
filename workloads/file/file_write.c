/* file_write -- write a file from beginning to end, block by block.
 *
 * Measures     write on a file: finding its pages in the system's cache, copying into them, and
 *              marking them to be written. Between two passes there is a seek to the beginning.
 *              Under Wine, WriteFile and SetFilePointerEx.
 * Leaves out   finding room: setup writes the file once, and the workload overwrites it in place
 *              (file_create finds room). The disk: nothing is flushed.
 * Beware       some seconds later the system writes to the disk by itself, which may disturb a long
 *              trial. A file larger than memory measures the disk. A block larger than the
 *              processor's caches is read from memory. Each block has a number of its own.
 * After        lmdd of lmbench (McVoy and Staelin, 1996).
 */
#include "passes.h"

static int pass_block(void)
{
	static uint32_t number;
	ssize_t         put;

	contents_room[0] = number++;
	put = handle_write(file, contents_room, block);
	if (put < 0)
		return fail("write");
	if ((uint64_t)put != block)
		return fail_check("%zd of %llu bytes written", put, (unsigned long long)block);
	return advance();
}

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_file_write = {
	.name = "file_write",
	.group = "file",
	.summary = "a file overwritten from beginning to end in blocks",
	.operation = "block",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &block,
	.calls = calls,
};
