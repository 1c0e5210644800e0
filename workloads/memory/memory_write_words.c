/* memory_write_words -- write every word of four bytes of an area, one after another.
 *
 * Measures     the rate of stores of a program that works word by word, as bandwidth: in the
 *              nearest caches the processor's stores limit it, beyond them the memory does.
 * Leaves out   wide stores: memory_write.
 * Beware       an operation is one pass, and counts the area's size once; beyond the caches the
 *              memory moves twice as much, because lines are read before they are written.
 *              Compilers would gather the stores into wide ones or a call of memset: they are
 *              volatile. Each batch writes a number of its own, for which three places are checked.
 * After        bw_mem fwr of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

static uint64_t size;

static struct {
	struct area area;
} s;

/* The stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *word, const volatile uint32_t *end, uint32_t number)
{
	for (; word != end; word += 16) {
		word[0] = number;
		word[1] = number;
		word[2] = number;
		word[3] = number;
		word[4] = number;
		word[5] = number;
		word[6] = number;
		word[7] = number;
		word[8] = number;
		word[9] = number;
		word[10] = number;
		word[11] = number;
		word[12] = number;
		word[13] = number;
		word[14] = number;
		word[15] = number;
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
	struct cell found = cell_read(&s.area, number), right = cell_of(word);

	if (memcmp(&found, &right, sizeof(right)))
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

const struct workload workload_memory_write_words = {
	.name         = "memory_write_words",
	.group        = "memory",
	.summary      = "every word of four bytes of an area written by itself",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 1024,
};
