/* memory_latency -- follow pointers through an area in random order.
 *
 * Measures     the time from a load's address to its data, in the cache or memory that holds the
 *              area: each load brings the address of the next. One cycle visits all elements, one
 *              every `stride` bytes (by default 64, one per line of most processors).
 * Leaves out   what a prefetcher can do for a regular order (memory_latency_sequential).
 * Beware       the order is random over the whole area, so beyond the reach of the TLB each load
 *              also pays for a page walk (memory_tlb shows how much). The system's pages, small or
 *              huge, are part of what is measured. A stride of several lines uses only some sets of
 *              a cache, and the curve steps at the same sizes. The order is the same in every
 *              trial, but the pages are not. After each batch the position reached is checked
 *              against the number of loads. The ancestor goes to another page with each load, in
 *              a cycle over all pages, so that a page is always the one left alone for longest: a
 *              build with that order took 1.10 [0.98, 1.37] times as long at 8 MiB (bench/beside.py
 *              with --peer, 12 rounds on a busy machine).
 * After        lat_mem_rd -t of lmbench (McVoy and Staelin, 1996), which goes page by page.
 */
#include "strides.h"

static int arrange(void)
{
	int outcome = map_elements();

	if (outcome)
		return outcome;
	chase_shuffle(&chase, 0, chase.count);
	chase_link(&chase);
	return 0;
}

static struct sweep sweep = AREA_SWEEP(&stride_size, 1, arrange);

const struct workload workload_memory_latency = {
	.name = "memory_latency",
	.group = "memory",
	.summary = "a load from the address that the load before it read, in random order",
	.operation = "load",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.instructions = 1,
};
