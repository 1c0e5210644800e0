/* writing.h -- what the workloads share that write an area: the area, passes word by word, and the
 * check of each batch.
 *
 * Before it includes this, a workload defines how much of each cell it writes (WORDS_PASSED, from
 * the first word on); after it, passes(). Each batch writes a new number, and three places are
 * checked for it.
 */
#ifndef STEELYARD_WRITING_H
#define STEELYARD_WRITING_H

#include "area.h"

static uint64_t size;

static struct {
	struct area area;
} s;

/* The workload's own: writes the number all over the area, `operations` times. */
static void passes(uint64_t operations, uint32_t number);

/* Does this word by word. The stores are volatile, so that the compiler keeps each of them. */
#define WRITE_WORD(place) word[place] = number
static inline void write_words(uint64_t operations, uint32_t number)
{
	volatile uint32_t *words = (volatile uint32_t *)(void *)s.area.start,
			  *end = words + area_words(&s.area);

	while (operations--)
		for (volatile uint32_t *word = words; word != end; word += 16 * STEP) {
			WORDS_16(WRITE_WORD);
		}
}

static int cell_holds(size_t number, uint32_t word)
{
	struct cell found = cell_read(&s.area, number);

	for (int i = 0; i < WORDS_PASSED; i++)
		if (found.word[i] != word)
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

#endif
