/* memory_read_write_partial -- increment one word of four bytes in every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which lines come to a processor that changes a quarter of each, and
 *              go back.
 * Leaves out   the other three words of each cell.
 * Beware       an operation is one pass, and counts the whole area's size once although a quarter
 *              is read and written, as lmbench does. Loads and stores are volatile, so that each is
 *              made. Each batch checks in three places that the words have grown by the number of
 *              its passes.
 * After        bw_mem rdwr of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

enum { WORDS_PASSED = 1 }; /* of each cell, from its first */

static uint64_t size;

static struct {
	struct area area;
} s;

/* Loads and stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *word, const volatile uint32_t *end)
{
	for (; word != end; word += 64) {
		word[0]++;
		word[4]++;
		word[8]++;
		word[12]++;
		word[16]++;
		word[20]++;
		word[24]++;
		word[28]++;
		word[32]++;
		word[36]++;
		word[40]++;
		word[44]++;
		word[48]++;
		word[52]++;
		word[56]++;
		word[60]++;
	}
}

static int arrange(void)
{
	int outcome = area_map(&s.area, size);

	if (!outcome)
		area_fill(&s.area);
	return outcome;
}

static int cell_grown(size_t number, struct cell before, uint64_t operations)
{
	struct cell after = cell_read(&s.area, number);

	for (int i = 0; i < WORDS_PASSED; i++)
		if (after.word[i] != before.word[i] + (uint32_t)operations)
			return fail_check("cell %zu has not grown by each pass", number);
	return 0;
}

static int run(uint64_t operations)
{
	volatile uint32_t *words = (volatile uint32_t *)s.area.start;
	size_t             cells[CELLS_JUDGED];
	struct cell        before[CELLS_JUDGED];
	int                outcome = 0;

	cells_draw(&s.area, cells);
	for (int i = 0; i < CELLS_JUDGED; i++)
		before[i] = cell_read(&s.area, cells[i]);
	for (uint64_t i = 0; i < operations; i++)
		pass(words, words + s.area.size / sizeof(uint32_t));
	for (int i = 0; i < CELLS_JUDGED && !outcome; i++)
		outcome = cell_grown(cells[i], before[i], operations);
	return outcome;
}

static void teardown(void)
{
	area_unmap(&s.area);
}

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_read_write_partial = {
	.name         = "memory_read_write_partial",
	.group        = "memory",
	.summary      = "one word in four of an area incremented",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 256,
};
