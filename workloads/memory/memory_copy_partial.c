/* memory_copy_partial -- copy one word of four bytes out of every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which lines come and go for a processor that copies a quarter of
 *              each.
 * Leaves out   the other three words of each cell.
 * Beware       an operation is one pass, and counts the whole area's size once although a quarter
 *              is copied, as lmbench does. Loads and stores are volatile, so that each is made.
 *              Each batch finds new numbers in three places of the source, and must have brought
 *              them to the destination.
 * After        bw_mem cp of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

enum { WORDS_PASSED = 1 }; /* of each cell, from its first */

static uint64_t size;

static struct {
	struct area source, destination;
} s;

/* Loads and stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *to, const volatile uint32_t *from,
                        const volatile uint32_t *end)
{
	for (; from != end; from += 64, to += 64) {
		to[0] = from[0];
		to[4] = from[4];
		to[8] = from[8];
		to[12] = from[12];
		to[16] = from[16];
		to[20] = from[20];
		to[24] = from[24];
		to[28] = from[28];
		to[32] = from[32];
		to[36] = from[36];
		to[40] = from[40];
		to[44] = from[44];
		to[48] = from[48];
		to[52] = from[52];
		to[56] = from[56];
		to[60] = from[60];
	}
}

static void passes(uint64_t operations)
{
	volatile uint32_t       *to = (volatile uint32_t *)s.destination.start;
	const volatile uint32_t *from = (const volatile uint32_t *)s.source.start;

	while (operations--)
		pass(to, from, from + s.source.size / sizeof(uint32_t));
}

static int cell_copied(size_t number)
{
	struct cell right = cell_read(&s.source, number), found = cell_read(&s.destination, number);

	if (memcmp(&found, &right, WORDS_PASSED * sizeof(uint32_t)))
		return fail_check("cell %zu was not copied", number);
	return 0;
}

static int arrange(void)
{
	int outcome;

	if ((outcome = area_map(&s.source, size)) || (outcome = area_map(&s.destination, size)))
		return outcome;
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

const struct workload workload_memory_copy_partial = {
	.name         = "memory_copy_partial",
	.group        = "memory",
	.summary      = "one word in four of an area copied to another",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 512,
};
