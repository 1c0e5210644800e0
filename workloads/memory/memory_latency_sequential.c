/* memory_latency_sequential -- follow pointers through an area in ascending order.
 *
 * Measures     the time from a load's address to its data where each load leads `stride` bytes
 *              further (64 by default), and from the end of the area to its beginning: the latency
 *              that the processor's prefetchers do not hide.
 * Leaves out   loads that a prefetcher cannot foresee (memory_latency).
 * Beware       prefetchers recognise the regular distance and fetch ahead. How far and how fast
 *              depends on the stride, and most stop at the end of a page. With strides below a
 *              line's length several loads find the same line. A stride of several lines uses only
 *              some sets of a cache, and the curve steps at the same sizes. An area smaller than
 *              the stride is one element. After each batch the position reached is checked against
 *              the number of loads.
 * After        lat_mem_rd of lmbench (McVoy and Staelin, 1996), which descends, with strides of 16
 *              to 1024.
 */
#include "strides.h"

static int arrange(void)
{
	int outcome = map_elements();

	if (!outcome)
		chase_link(&chase);
	return outcome;
}

static struct sweep sweep = AREA_SWEEP(&stride_size, 1, arrange);

const struct workload workload_memory_latency_sequential = {
	.name = "memory_latency_sequential",
	.group = "memory",
	.summary = "a load from the address that the load before it read, in ascending order",
	.operation = "load",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.instructions = 1,
};
