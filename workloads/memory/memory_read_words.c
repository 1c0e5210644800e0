/* memory_read_words -- read an area four bytes at a time, word after word.
 *
 * Measures     the rate of loads of a program that works word by word, as a bandwidth. In the
 *              nearest caches the processor's loads and additions limit it, beyond them the memory.
 * Leaves out   wide loads (memory_read).
 * Beware       an operation is one pass, and counts the area's size once. A compiler would combine
 *              the loads into wide ones, so they are volatile and each word has its own load. The
 *              sum of all words is checked at the end of each batch.
 * After        bw_mem frd of lmbench (McVoy and Staelin, 1996).
 */
#include "filled.h"

/* The loads are volatile, so that each is made, and by itself. */
static inline uint64_t pass(const volatile uint32_t *word, const volatile uint32_t *end)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (; word != end; word += 8) {
		a += word[0];
		b += word[1];
		c += word[2];
		d += word[3];
		a += word[4];
		b += word[5];
		c += word[6];
		d += word[7];
	}
	return a + b + c + d;
}

static int run(uint64_t operations)
{
	const volatile uint32_t *words = (const volatile uint32_t *)s.area.start;
	uint64_t                 sum = 0;

	for (uint64_t i = 0; i < operations; i++)
		sum += pass(words, words + area_words(&s.area));
	if (sum != operations * s.sums.fours)
		return sum_is_wrong(operations);
	return 0;
}

const struct workload workload_memory_read_words = {
	.name = "memory_read_words",
	.group = "memory",
	.summary = "an area read four bytes at a time",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 1024,
};
