/* memory_write_partial -- write one word of four bytes into every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which lines come to a processor that writes a quarter of each, and
 *              go back: no such line can be written without being read first.
 * Leaves out   the other three words of each cell.
 * Beware       an operation is one pass, and counts the whole area's size although a quarter is
 *              written, as lmbench does. The stores are volatile, so that each is made. Each batch
 *              writes a number of its own, for which three places are checked.
 * After        bw_mem wr of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

static uint64_t size;

static struct {
	struct area area;
} s;

/* The stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *word, const volatile uint32_t *end, uint32_t number)
{
	for (; word != end; word += 64) {
		word[0] = number;
		word[4] = number;
		word[8] = number;
		word[12] = number;
		word[16] = number;
		word[20] = number;
		word[24] = number;
		word[28] = number;
		word[32] = number;
		word[36] = number;
		word[40] = number;
		word[44] = number;
		word[48] = number;
		word[52] = number;
		word[56] = number;
		word[60] = number;
	}
}

static void passes(uint64_t operations, uint32_t number)
{
	volatile uint32_t *words = (volatile uint32_t *)s.area.start;

	while (operations--)
		pass(words, words + s.area.size / sizeof(uint32_t), number);
}

static int cell_holds(size_t number, uint32_t word)
{
	if (cell_read(&s.area, number).word[0] != word)
		return fail_check("cell %zu is not as written", number);
	return 0;
}

static int arrange(void)
{
	uint32_t word = number_draw();
	int      outcome = area_map(&s.area, size);

	if (outcome)
		return outcome;
	passes(1, word);
	for (size_t i = 0; size <= AREA_COMPARED_MOST && i < area_cells(&s.area) && !outcome; i++)
		outcome = cell_holds(i, word);
	return outcome;
}

static int run(uint64_t operations)
{
	size_t   cells[CELLS_JUDGED];
	uint32_t word = number_draw();
	int      outcome = 0;

	passes(operations, word);
	cells_draw(&s.area, cells);
	for (int i = 0; i < CELLS_JUDGED && !outcome; i++)
		outcome = cell_holds(cells[i], word);
	return outcome;
}

static void teardown(void)
{
	area_unmap(&s.area);
}

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_write_partial = {
	.name         = "memory_write_partial",
	.group        = "memory",
	.summary      = "one word in four of an area written",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 256,
};
