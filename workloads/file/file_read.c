/* file_read -- read a file from beginning to end, block by block.
 *
 * Measures     read on a file: finding its pages in the system's cache and copying them out; a seek
 *              back to the beginning stands between two passes. On Windows ReadFile and
 *              SetFilePointerEx.
 * Leaves out   the disk: the file was written in setup and is in the system's cache, as long as
 *              that has room for it. Nothing is done with what is read (file_read_cached with
 *              look=4 adds it up).
 * Beware       a file larger than memory measures the disk. The first and the last number of each
 *              block are checked. The same room receives every block; a block larger than the
 *              processor's caches is written to memory.
 * After        lmdd of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "contents.h"

static uint64_t size = 8388608, block = 65536;
static uint64_t at; /* the place in the file */
static handle   file = NO_HANDLE;

static int setup(void)
{
	int outcome;

	if (block % sizeof(uint32_t) || size % block)
		return fail_check("size is not a multiple of block, or block not of 4");
	outcome = contents_make(size, block);
	return outcome ? outcome : contents_open(&file);
}

static int read_block(void)
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
	at += block;
	if (at == size) {
		at = 0;
		if (handle_seek(file, 0))
			return fail("seeking");
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = read_block();
	return outcome;
}

static void teardown(void)
{
	if (file != NO_HANDLE)
		handle_close(file);
	contents_remove();
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the file, a multiple of block", &size, 512, UINT64_C(1) << 40),
	NUMBER("block", "bytes read at once, a multiple of 4", &block, 512, CONTENTS_BLOCK_MOST),
	{ 0 },
};

static const struct call calls[] = { { "read", 1 }, { 0 } };

const struct workload workload_file_read = {
	.name       = "file_read",
	.group      = "file",
	.summary    = "a file read from beginning to end in blocks",
	.operation  = "block",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.bytes      = &block,
	.calls      = calls,
};
