/* file_create -- create a file in a directory.
 *
 * Measures     an entry in a directory and an inode made, the file opened and closed; and where
 *              `size` is more than nothing, one write of so many bytes, with finding room for them.
 *              On Windows by CreateFile, WriteFile and CloseHandle.
 * Leaves out   removing: what one batch has made is removed, untimed, before the next. And the
 *              disk: nothing is flushed.
 * Beware       the file system of the working directory is what is measured; it is in the system's
 *              fingerprint. ext4 without a journal does not use the number of a removed file again
 *              for a minute, and looks at all such numbers whenever a file is made: there an
 *              operation takes up to a hundred times as long the more files were removed shortly
 *              before, by this workload or any other, and trials disturb each other. Choose another
 *              file system. As many files as a batch has operations are in the directory at its
 *              end: some thousands where it is fast, some dozens where it is slow. What the system
 *              puts off (a journal, memory to be freed) may fall into a later batch. The names are
 *              relative to the working directory.
 * After        lat_fs of lmbench (McVoy and Staelin, 1996), which reports creations a second for
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
	(void)operations;
	return many_remove_all();
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a file", &size, 0, MANY_SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "openat", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_file_create = {
	.name       = "file_create",
	.group      = "file",
	.summary    = "a file created in a directory",
	.operation  = "file",
	.setup      = setup,
	.before     = before,
	.run        = many_create,
	.teardown   = many_end,
	.parameters = parameters,
	.calls      = calls,
};
