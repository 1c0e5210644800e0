/* memory_latency -- follow pointers through an area in random order.
 *
 * Measures     the time from a load's address to its data, in whichever cache or memory holds the
 *              area: each load's address is what the load before brought. All elements are visited,
 *              one every `stride` bytes (by default 64, one in each line of most processors), in
 *              one cycle.
 * Leaves out   what a prefetcher can do for a regular order: memory_latency_sequential.
 * Beware       the order is random over the whole area, so that beyond the reach of the address
 *              translation's caches each load pays for a page walk as well (memory_tlb shows how
 *              much); the system's pages, small or huge, are part of what is measured. With a
 *              stride of several lines only some sets of a cache are used, and the curve steps at
 *              the same sizes. The order is the same in every trial, the pages are not. After each
 *              batch the chase is checked to have come as far as its number of loads leads.
 * After        lat_mem_rd -t of lmbench (McVoy and Staelin, 1996), which walks page by page.
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

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_latency = {
	.name         = "memory_latency",
	.group        = "memory",
	.summary      = "a load whose address the load before brought, in random order",
	.operation    = "load",
	.setup        = setup,
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.instructions = 1,
};
