/* copying.h -- what the workloads share that copy an area to another: both areas, passes word by
 * word, and the check of each batch.
 *
 * Before it includes this, a workload defines how much of each cell it copies (WORDS_PASSED, from
 * the first word on); after it, passes(). Each batch puts new numbers into three places of the
 * source, which must arrive in the copy.
 */
#ifndef STEELYARD_COPYING_H
#define STEELYARD_COPYING_H

#include "area.h"

static uint64_t size, offset; /* offset: from the destination's beginning to the copy's */

static struct {
	struct area    source, destination;
	unsigned char *copy;
} s;

/* The workload's own: copies the source `operations` times. */
static void passes(uint64_t operations);

/* Does this word by word. Loads and stores are volatile, so that the compiler keeps each of
 * them. */
#define COPY_WORD(place) to[place] = from[place]
static inline void copy_words(uint64_t operations)
{
	while (operations--) {
		const volatile uint32_t *from =
			(const volatile uint32_t *)(const void *)s.source.start;
		const volatile uint32_t *end = from + area_words(&s.source);
		volatile uint32_t       *to = (volatile uint32_t *)(void *)s.copy;

		for (; from != end; from += 16 * STEP, to += 16 * STEP) {
			WORDS_16(COPY_WORD);
		}
	}
}

static int cell_copied(size_t number)
{
	size_t at = number * sizeof(struct cell);

	if (memcmp(s.copy + at, s.source.start + at, WORDS_PASSED * sizeof(uint32_t)))
		return fail_check("cell %zu was not copied", number);
	return 0;
}

static int arrange(void)
{
	int outcome;

	if ((outcome = area_map(&s.source, size)) ||
	    (outcome = area_map(&s.destination, size + offset)))
		return outcome;
	s.copy = s.destination.start + offset;
	area_fill(&s.source);
	passes(1);
	for (size_t i = 0; size <= AREA_COMPARED_MOST && i < area_cells(&s.source) && !outcome; i++)
		outcome = cell_copied(i);
	return outcome;
}

static int run(uint64_t operations)
{
	size_t cells[CELLS_JUDGED];
	int    outcome = 0;

	cells_draw(&s.source, cells);
	for (int i = 0; i < CELLS_JUDGED; i++)
		cell_write(&s.source, cells[i], cell_of(number_draw()));
	passes(operations);
	for (int i = 0; i < CELLS_JUDGED && !outcome; i++)
		outcome = cell_copied(cells[i]);
	return outcome;
}

static void teardown(void)
{
	area_unmap(&s.source);
	area_unmap(&s.destination);
}

static struct sweep sweep = AREA_SWEEP(&size, 2, arrange);

#endif
