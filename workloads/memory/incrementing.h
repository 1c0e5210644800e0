/* incrementing.h -- the hooks of memory_read_write and of memory_read_write_partial, which differ in how many words
 * of each cell they increment (WORDS_PASSED, from the first on), and have nothing else of their own.
 *
 * Loads and stores are volatile, so that each is made, and by itself. Each batch checks in three places
 * that the words have grown by the number of its passes.
 */
#ifndef STEELYARD_INCREMENTING_H
#define STEELYARD_INCREMENTING_H

#include "filled.h"

#define INCREMENT(place) word[place]++
static inline void pass(volatile uint32_t *word, const volatile uint32_t *end)
{
	for (; word != end; word += 16 * STEP) {
		WORDS_16(INCREMENT);
	}
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
		pass(words, words + area_words(&s.area));
	for (int i = 0; i < CELLS_JUDGED && !outcome; i++)
		outcome = cell_grown(cells[i], before[i], operations);
	return outcome;
}

#endif
