/* memory_copy_words -- copy an area to another by words of four bytes.
 *
 * Measures     the rate of loads and stores of a program that copies word by word, as bandwidth.
 * Leaves out   wide loads and stores, and those that bypass the caches: memory_copy.
 * Beware       an operation is one pass, and counts each byte copied once, although it is read and
 *              written. Compilers would make wide copies of it or a call of memcpy: loads and
 *              stores are volatile. Each batch finds new numbers in three places of the source, and
 *              must have brought them to the destination.
 * After        bw_mem fcp of lmbench (McVoy and Staelin, 1996).
 */
#include "area.h"

enum { WORDS_PASSED = 4 }; /* of each cell, from its first */

static uint64_t size;

static struct {
	struct area source, destination;
} s;

/* Loads and stores are volatile, so that each is made, and by itself. */
static inline void pass(volatile uint32_t *to, const volatile uint32_t *from,
                        const volatile uint32_t *end)
{
	for (; from != end; from += 16, to += 16) {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
		to[4] = from[4];
		to[5] = from[5];
		to[6] = from[6];
		to[7] = from[7];
		to[8] = from[8];
		to[9] = from[9];
		to[10] = from[10];
		to[11] = from[11];
		to[12] = from[12];
		to[13] = from[13];
		to[14] = from[14];
		to[15] = from[15];
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

const struct workload workload_memory_copy_words = {
	.name         = "memory_copy_words",
	.group        = "memory",
	.summary      = "an area copied to another by words of four bytes",
	.operation    = "pass",
	.run          = run,
	.teardown     = teardown,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 2048,
};
