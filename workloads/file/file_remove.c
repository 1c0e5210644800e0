/* file_remove -- remove a file from a directory.
 *
 * Measures     removing a directory entry and an inode. If `size` is not 0, also giving back the
 *              file's pages and releasing its room on the file system. Under Wine, DeleteFile,
 *              which opens the file, marks it and closes it.
 * Leaves out   creating: the files of a batch are created, untimed, before it. The disk: nothing is
 *              flushed, and what was written just before has not reached it.
 * Beware       this measures the file system of the working directory; the system's fingerprint
 *              names it. On ext4 without a journal the untimed creation may take a hundred times as
 *              long as what is timed (file_create says why), and the trial many seconds: choose
 *              another file system. At the beginning of a batch the directory holds as many files
 *              as the batch has operations: some thousands where it is fast, some dozens where it
 *              is slow. They are removed in the order in which they were created, and everything is
 *              in the system's caches. What the system postpones (a journal, freeing memory) may
 *              happen between the batches, and is not seen. The names are relative to the working
 *              directory.
 * After        lat_fs of lmbench (McVoy and Staelin, 1996), which reports removals per second for
 *              files of 0, 1024, 4096 and 10240 bytes.
 */
#include "../api/workload.h"
#include "many.h"

static uint64_t size;

static int setup(void)
{
	return many_begin(size);
}

static int before(uint64_t operations)
{
	int outcome = many_next();

	return outcome ? outcome : many_create(operations);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a file", &size, 0, MANY_SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "unlinkat", 1 }, { 0 } };

const struct workload workload_file_remove = {
	.name = "file_remove",
	.group = "file",
	.summary = "a file removed from a directory",
	.operation = "file",
	.setup = setup,
	.before = before,
	.run = many_remove,
	.teardown = many_end,
	.parameters = parameters,
	.calls = calls,
};
