/* strides.h -- what memory_latency and memory_latency_sequential share: a chase over one element
 * every `stride` bytes. They differ in the order, which is ascending until it is shuffled. An area
 * smaller than the stride is one element.
 */
#ifndef STEELYARD_STRIDES_H
#define STEELYARD_STRIDES_H

#include <inttypes.h>

#include "chase.h"

static uint64_t stride_size, stride = 64;

static size_t stride_place(size_t element)
{
	return element * (size_t)stride;
}

static struct chase chase = { .place = stride_place };

static int setup(void)
{
	if (stride % sizeof(void *))
		return fail_check("stride %" PRIu64 " is no multiple of a pointer's %zu bytes",
		                  stride, sizeof(void *));
	return 0;
}

static inline int map_elements(void)
{
	return chase_map(&chase, stride_size < stride ? stride : stride_size, stride_size / stride);
}

static int run(uint64_t operations)
{
	return chase_run(&chase, operations);
}

static void teardown(void)
{
	chase_unmap(&chase);
}

static const struct parameter parameters[] = {
	NUMBER("stride", "bytes from one element to the next, a multiple of 8", &stride, 8,
	       1 << 20),
	{ 0 },
};

#endif
