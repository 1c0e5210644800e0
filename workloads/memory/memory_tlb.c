/* memory_tlb -- follow pointers through one line of each page, and through as many adjacent lines.
 *
 * Measures     in "pages", the time of a load in random order over one line of each page of an area
 *              (the size is the area's). In "dense", the same over as many lines that lie side by
 *              side. Both need the same room in the data caches. Beyond the reach of the
 *              processor's TLBs, "pages" takes longer, by the time to translate addresses.
 * Leaves out   huge pages: the workload asks the system for none, where it can.
 * Beware       the line differs from page to page, so that all sets of the first-level cache are
 *              used. The system chooses which sets of the other caches a page uses, so near a
 *              cache's size some lines drop out of it earlier in "pages" than in "dense". The dense
 *              lines need translations too, one page where "pages" needs sixty-four. In a virtual
 *              machine each translation consists of two. After each batch the position reached is
 *              checked against the number of loads.
 * After        tlb of lmbench (Staelin and McVoy), which only reports where the time rises.
 */
#include "chase.h"

enum { LINE = 64 };

static uint64_t size;
static size_t   page;

static size_t place_in_page(size_t element)
{
	return element * page + element % (page / LINE) * LINE;
}

static size_t place_densely(size_t element)
{
	return element * LINE;
}

static struct chase pages = { .place = place_in_page }, dense = { .place = place_densely };

static int setup(void)
{
	page = page_bytes();
	return 0;
}

static int arrange_one(struct chase *chase, uint64_t bytes, uint64_t count)
{
	int outcome = chase_map(chase, bytes, count);

	if (outcome)
		return outcome;
	memory_small_pages(chase->area.start, chase->area.size);
	chase_shuffle(chase, 0, chase->count);
	chase_link(chase);
	return 0;
}

static int arrange(void)
{
	uint64_t count = size < page ? 1 : size / page;
	int      outcome = arrange_one(&pages, count * page, count);

	return outcome ? outcome : arrange_one(&dense, count * LINE, count);
}

static int run_pages(uint64_t operations)
{
	return chase_run(&pages, operations);
}

static int run_dense(uint64_t operations)
{
	return chase_run(&dense, operations);
}

static void teardown(void)
{
	chase_unmap(&pages);
	chase_unmap(&dense);
}

static const struct phase phases[] = {
	{ .metric = "pages", .run = run_pages },
	{ .metric = "dense", .run = run_dense },
	{ 0 },
};

static struct sweep sweep = {
	.name = "size",
	.unit = "bytes",
	.value = &size,
	.from = 4096,
	.steps = 1,
	.grain = 4096,
	.areas = 1,
	.arrange = arrange,
};

const struct workload workload_memory_tlb = {
	.name = "memory_tlb",
	.group = "memory",
	.summary = "a load from one line of each page, and from as many adjacent lines",
	.operation = "load",
	.setup = setup,
	.phases = phases,
	.teardown = teardown,
	.sweep = &sweep,
	.instructions = 1,
};
