/* file_remove -- remove a file from a directory.
 *
 * Measures     the entry in the directory and the inode removed; and where `size` is more than
 *              nothing, the file's pages given back and its room on the file system released. On
 *              Windows by DeleteFile, which opens the file, marks it and closes it.
 * Leaves out   creating: what a batch removes is created, untimed, before it. And the disk: nothing
 *              is flushed, and what was written so shortly before has not reached it.
 * Beware       the file system of the working directory is what is measured; it is in the system's
 *              fingerprint. On ext4 without a journal the untimed creation may take a hundred times
 *              as long as what is timed (file_create says why), and the trial many seconds: choose
 *              another file system. As many files as a batch has operations are in the directory at
 *              its beginning: some thousands where it is fast, some dozens where it is slow. They
 *              are removed in the order in which they were created, and all is in the system's
 *              caches. What the system puts off (a journal, memory to be freed) may fall between
 *              the batches, and is not seen. The names are relative to the working directory.
 * After        lat_fs of lmbench (McVoy and Staelin, 1996), which reports removals a second for
 *              files of 0, 1024, 4096 and 10240 bytes.
 */
#include "../api/workload.h"
#include "many.h"

static uint64_t size;

static int setup(void)
{
	return many_begin(size);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a file", &size, 0, MANY_SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "unlinkat", 1 }, { 0 } };

const struct workload workload_file_remove = {
	.name       = "file_remove",
	.group      = "file",
	.summary    = "a file removed from a directory",
	.operation  = "file",
	.setup      = setup,
	.before     = many_create,
	.run        = many_remove,
	.teardown   = many_end,
	.parameters = parameters,
	.calls      = calls,
};
