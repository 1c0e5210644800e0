/* memory_copy_libc -- copy an area to another by the C library's memcpy.
 *
 * Measures     the bandwidth of memcpy, which is what programs copy with: the library's choice of
 *              instructions for this processor, and what they reach in each cache and in memory.
 * Leaves out   moving between areas that overlap (memmove).
 * Beware       an operation is one call, and counts each byte copied once, although it is read and
 *              written. Libraries differ: glibc chooses by the processor, and bypasses the caches
 *              above a size of its own; musl has one way. With `offset` the destination begins that
 *              many bytes past a page's boundary and the source on one, so that the two are not
 *              aligned to each other. Each batch finds new numbers in three places of the source,
 *              and must have brought them to the destination.
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
	NUMBER("offset", "bytes past a page's boundary where the destination begins", &offset, 0,
	       OFFSET_MOST),
	{ 0 },
};

const struct workload workload_memory_copy_libc = {
	.name         = "memory_copy_libc",
	.group        = "memory",
	.summary      = "an area copied to another by the C library",
	.operation    = "call",
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 5,
};
