/* memory_read_write -- increment every word of four bytes of an area, one after another.
 *
 * Measures     the rate of loads and stores of a program that changes data in place, word by word,
 *              as bandwidth.
 * Leaves out   wide loads and stores: memory_copy has them.
 * Beware       an operation is one pass, and counts the area's size once, although each word is
 *              read and written. Loads and stores are volatile, so that no compiler gathers them
 *              into wide ones, or several passes into one addition. Each batch checks in three
 *              places that the words have grown by the number of its passes.
 * After        bw_mem rdwr of lmbench (McVoy and Staelin, 1996), there one word in four.
 */
#include "area.h"

enum { WORDS_PASSED = 4 }; /* of each cell, from its first */

static uint64_t size;

static struct {
	struct area area;
} s;

/* Loads and stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *word, const volatile uint32_t *end)
{
	for (; word != end; word += 16) {
		word[0]++;
		word[1]++;
		word[2]++;
		word[3]++;
		word[4]++;
		word[5]++;
		word[6]++;
		word[7]++;
		word[8]++;
		word[9]++;
		word[10]++;
		word[11]++;
		word[12]++;
		word[13]++;
		word[14]++;
		word[15]++;
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

const struct workload workload_memory_read_write = {
	.name         = "memory_read_write",
	.group        = "memory",
	.summary      = "every word of four bytes of an area incremented",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 1024,
};
