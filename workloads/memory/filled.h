/* filled.h -- what the workloads share that read an area, or change it in place: the area at each size, filled
 * with numbers of which no two cells are alike, and what they add up to.
 */
#ifndef STEELYARD_FILLED_H
#define STEELYARD_FILLED_H

#include <inttypes.h>

#include "area.h"

static uint64_t size;

static struct {
	struct area area;
	struct sums sums;
} s;

static int arrange(void)
{
	int outcome = area_map(&s.area, size);

	if (!outcome)
		s.sums = area_fill(&s.area);
	return outcome;
}

static inline int sum_is_wrong(uint64_t operations)
{
	return fail_check("the sum of %" PRIu64 " passes is wrong", operations);
}

static void teardown(void)
{
	area_unmap(&s.area);
}

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

#endif
