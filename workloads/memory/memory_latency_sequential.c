/* memory_latency_sequential -- follow pointers through an area in ascending order.
 *
 * Measures     the time from a load's address to its data where each load leads `stride` bytes
 *              further (by default 64), and from the area's end to its beginning: latency, as far
 *              as the processor's prefetchers do not hide it.
 * Leaves out   loads that cannot be foreseen: memory_latency.
 * Beware       prefetchers see the regular distances, and fetch ahead; how far and how fast depends
 *              on the stride, and most stop at a page's end. With strides below a line's length
 *              several loads find one line. With strides of several lines only some sets of a cache
 *              are used, and the curve steps at the same sizes. An area smaller than the stride is
 *              one element. After each batch the chase is checked to have come as far as its number
 *              of loads leads.
 * After        lat_mem_rd of lmbench (McVoy and Staelin, 1996), which descends, with strides 16 to
 *              1024.
 */
#include "strides.h"

static int arrange(void)
{
	int outcome = map_elements();

	if (!outcome)
		chase_link(&chase);
	return outcome;
}

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_latency_sequential = {
	.name         = "memory_latency_sequential",
	.group        = "memory",
	.summary      = "a load whose address the load before brought, in ascending order",
	.operation    = "load",
	.setup        = setup,
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.instructions = 1,
};
