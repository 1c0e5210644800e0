/* memory_read_partial -- read the first four of every sixteen bytes of an area.
 *
 * Measures     the bandwidth at which cache lines come to a processor that reads only a quarter of
 *              each.
 * Leaves out   the other three words of four bytes.
 * Beware       an operation is one pass. It counts the whole size although only a quarter is read,
 *              as lmbench does: compare it with itself on another system, not with memory_read.
 *              Each word has its own load, and the sum is checked in each batch. The ancestor's
 *              machine code makes the same 32 loads per 512 bytes, but adds to one sum where this
 *              adds to four: this is 1.21 [1.14, 1.33] times as fast at 16 KiB and 1.15 [1.08,
 *              1.30] at 512 KiB (bench/beside.py, 24 rounds). With one sum it is 1.11 [1.01, 1.34]
 *              at 16 KiB (10 rounds), so it is not resolved whether that is all.
 * After        bw_mem rd of lmbench (McVoy and Staelin, 1996).
 */
#include "filled.h"

/* The four sums are held after every sixteen loads, so that no compiler makes one wide load and a
 * shuffle of four; but each may add straight from memory, which takes half the instructions. */
#define HELD()      __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#define FOUR(at)    a += word[at], b += word[(at) + 4], c += word[(at) + 8], d += word[(at) + 12]
#define SIXTEEN(at) FOUR(at), FOUR((at) + 16), FOUR((at) + 32), FOUR((at) + 48)

static inline uint32_t pass(const uint32_t *word, const uint32_t *end)
{
	uint32_t a = 0, b = 0, c = 0, d = 0;

	for (; word != end; word += 128) {
		SIXTEEN(0);
		HELD();
		SIXTEEN(64);
		HELD();
	}
	return a + b + c + d;
}

static int run(uint64_t operations)
{
	const uint32_t *words = (const uint32_t *)(const void *)s.area.start;
	uint32_t        sum = 0;

	for (uint64_t i = 0; i < operations; i++) {
		__asm__ volatile("" : "+r"(words) : : "memory");
		sum += pass(words, words + area_words(&s.area));
	}
	if (sum != (uint32_t)(operations * s.sums.one_in_four))
		return sum_is_wrong(operations);
	return 0;
}

const struct workload workload_memory_read_partial = {
	.name = "memory_read_partial",
	.group = "memory",
	.summary = "one word in four of an area read",
	.operation = "pass",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 256,
};
