/* memory_zero -- set an area to zero by the C library's memset.
 *
 * Measures     the bandwidth of memset with 0, with which programs clear memory.
 * Leaves out   memory that comes as zeros from the system: each page has been written before.
 * Beware       an operation is one call, and counts the area's size once. Zeros may be faster than
 *              any other value: on AMD's Zen 4, beyond the caches, clearing memory was 2.6 times as
 *              fast as setting it to 1. So this does not measure writing (memory_write does).
 *              Libraries differ. Three places are set to other numbers before each batch, and must
 *              be zero afterwards.
 * After        bw_mem bzero of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

static uint64_t size;

static struct {
	struct area area;
} s;

static void passes(uint64_t operations)
{
	while (operations--) {
		memset(s.area.start, 0, s.area.size);
		keep(s.area.start);
	}
}

static int cell_cleared(size_t number)
{
	struct cell found = cell_read(&s.area, number), right = { 0 };

	if (memcmp(&found, &right, sizeof(right)))
		return fail_check("cell %zu is not zero", number);
	return 0;
}

static int arrange(void)
{
	int outcome = area_map(&s.area, size);

	if (outcome)
		return outcome;
	area_fill(&s.area);
	passes(1);
	for (size_t i = 0; size <= AREA_COMPARED_MOST && i < area_cells(&s.area) && !outcome; i++)
		outcome = cell_cleared(i);
	return outcome;
}

static int run(uint64_t operations)
{
	size_t cells[CELLS_JUDGED];
	int    outcome = 0;

	cells_draw(&s.area, cells);
	for (int i = 0; i < CELLS_JUDGED; i++)
		cell_write(&s.area, cells[i], cell_of(number_draw()));
	passes(operations);
	for (int i = 0; i < CELLS_JUDGED && !outcome; i++)
		outcome = cell_cleared(cells[i]);
	return outcome;
}

static void teardown(void)
{
	area_unmap(&s.area);
}

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_zero = {
	.name = "memory_zero",
	.group = "memory",
	.summary = "an area set to zero by the C library",
	.operation = "call",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 5,
};
