/* memory_copy_libc -- copy an area to another by the C library's memcpy.
 *
 * Measures     the bandwidth of memcpy, with which programs copy: the library's choice of
 *              instructions for this processor, and what they reach in each cache and in memory.
 * Leaves out   copying between areas that overlap (memmove).
 * Beware       an operation is one call. It counts each byte copied once, although the byte is read
 *              and written. Libraries differ: glibc chooses by the processor, and bypasses the
 *              caches above a size of its own; musl has only one way. The source begins at a page's
 *              boundary and the copy `offset` bytes after one, so that the two may not be aligned
 *              to each other. Each batch puts new numbers into three places of the source, which
 *              must arrive in the copy.
 * After        bw_mem bcopy of lmbench (McVoy and Staelin, 1996), aligned and unaligned.
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "copying.h"

enum { OFFSET_MOST = 63 };

static void passes(uint64_t operations)
{
	while (operations--) {
		memcpy(s.copy, s.source.start, s.source.size);
		keep(s.copy);
	}
}

static const struct parameter parameters[] = {
	NUMBER("offset", "bytes from a page's boundary to the beginning of the copy", &offset, 0,
	       OFFSET_MOST),
	{ 0 },
};

const struct workload workload_memory_copy_libc = {
	.name = "memory_copy_libc",
	.group = "memory",
	.summary = "an area copied to another by the C library",
	.operation = "call",
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 5,
};
