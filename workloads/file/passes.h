/* passes.h -- what file_read and file_write share: one file of known contents, gone through again and again from
 * beginning to end, a block by each call.
 */
#ifndef STEELYARD_FILE_PASSES_H
#define STEELYARD_FILE_PASSES_H

#include <string.h>

#include "../api/workload.h"
#include "contents.h"

static uint64_t size = 8388608, block = 65536;
static uint64_t at; /* the place in the file */
static handle   file = NO_HANDLE;

/* The workload's: one block, at that place. */
static int pass_block(void);

/* After a block. */
INLINED int advance(void)
{
	at += block;
	if (at == size) {
		at = 0;
		if (handle_seek(file, 0))
			return fail("seeking");
	}
	return 0;
}

static int setup(void)
{
	int outcome;

	if (block % sizeof(uint32_t) || size % block)
		return fail_check("size is not a multiple of block, or block not of 4");
	if ((outcome = contents_make(size, block)))
		return outcome;
	memset(contents_room, 0x55, block); /* a block of zeros may be a special case */
	return contents_open(&file);
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = pass_block();
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
	NUMBER("block", "bytes in a block, a multiple of 4", &block, 512, CONTENTS_BLOCK_MOST),
	{ 0 },
};

#endif
