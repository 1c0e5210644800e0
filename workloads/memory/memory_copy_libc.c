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
#include "area.h"

enum { OFFSET_MOST = 63 };

static uint64_t size, offset;

static struct {
	struct area    source, destination;
	unsigned char *to;
} s;

static void passes(uint64_t operations)
{
	while (operations--) {
		memcpy(s.to, s.source.start, s.source.size);
		keep(s.to);
	}
}

static int arrange(void)
{
	int outcome;

	if ((outcome = area_map(&s.source, size)) ||
	    (outcome = area_map(&s.destination, size + offset)))
		return outcome;
	s.to = s.destination.start + offset;
	area_fill(&s.source);
	passes(1);
	if (size <= AREA_COMPARED_MOST && memcmp(s.to, s.source.start, s.source.size))
		return fail_check("the destination differs from the source");
	return 0;
}

static int run(uint64_t operations)
{
	size_t cells[CELLS_JUDGED];

	cells_draw(&s.source, cells);
	for (int i = 0; i < CELLS_JUDGED; i++)
		cell_write(&s.source, cells[i], cell_of(number_draw()));
	passes(operations);
	for (int i = 0; i < CELLS_JUDGED; i++) {
		struct cell right = cell_read(&s.source, cells[i]);

		if (memcmp(s.to + cells[i] * sizeof(right), &right, sizeof(right)))
			return fail_check("cell %zu was not copied", cells[i]);
	}
	return 0;
}

static void teardown(void)
{
	area_unmap(&s.source);
	area_unmap(&s.destination);
}

static const struct parameter parameters[] = {
	NUMBER("offset", "bytes past a page's boundary where the destination begins", &offset, 0,
	       OFFSET_MOST),
	{ 0 },
};

static struct sweep sweep = AREA_SWEEP(&size, 2, arrange);

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
