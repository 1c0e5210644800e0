/* file_create -- create a file in a directory.
 *
 * Measures     making a directory entry and an inode, and opening and closing the file. If `size`
 *              is not 0, also one write of that many bytes, with finding room for them. Under Wine,
 *              CreateFile, WriteFile and CloseHandle.
 * Leaves out   removing: the files of one batch are removed, untimed, before the next. The disk:
 *              nothing is flushed.
 * Beware       this measures the file system of the working directory; the system's fingerprint
 *              names it. ext4 without a journal does not use the number of a removed file again for
 *              a minute, and looks at all such numbers nearby whenever it creates a file. So
 *              batches go round in 16 directories that are laid apart (as by chattr +T), but where
 *              many trials of a minute share a small disk, an operation still takes longer the more
 *              files were removed shortly before, up to a hundred times as long. Ask for few
 *              operations in a batch there. At the end of a batch a directory holds as many files
 *              as the batch has operations: some thousands where it is fast, some dozens where it
 *              is slow.
 *              What the system postpones (a journal, freeing memory) may happen in a later batch.
 *              The names are relative to the working directory.
 * After        lat_fs of lmbench (McVoy and Staelin, 1996), which reports creations per second for
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
	return many_next();
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a file", &size, 0, MANY_SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "openat", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_file_create = {
	.name = "file_create",
	.group = "file",
	.summary = "a file created in a directory",
	.operation = "file",
	.setup = setup,
	.before = before,
	.run = many_create,
	.teardown = many_end,
	.parameters = parameters,
	.calls = calls,
};
