/* memory_line -- follow pointers to pairs of words that are a stride apart.
 *
 * Measures     the length of a cache line. The chase visits pairs of words that are `stride` bytes
 *              apart; the pairs are far from each other and in random order. While the stride is
 *              shorter than a line, the second word of a pair is in a line that is already in the
 *              nearest cache, and a load takes half a miss on average. From a stride of one line
 *              on, both words miss, and the time stays level. The length of a line is the smallest
 *              stride of that higher level.
 * Leaves out   different lengths in different caches: it shows the shortest.
 * Beware       prefetchers would learn that a word's neighbour follows, so the 128 words of 64
 *              pairs are visited in an order of their own, shuffled again for each 64 pairs. A
 *              prefetcher that always fetches lines in pairs makes a stride of one line faster than
 *              longer ones; a level between the two shows this. The area is 64 MiB, or what memory
 *              allows. It only has to be larger than the second-level cache, because the workload
 *              tells hits in the first level from misses. The time of a miss includes the
 *              translation of addresses.
 * After        line of lmbench (Staelin and McVoy).
 */
#include <inttypes.h>

#include "chase.h"

/* Pairs are laid out for lines of 64 bytes: each line has one word of one pair, at its end. With
 * other lengths it works as well; the words are then more, or fewer, than the lines. */
enum { LINE = 64, LAST_WORD = LINE - sizeof(uint64_t), MIXED = 128, AREA_MOST = 64 << 20 };

static uint64_t stride;

/* Element 2 n is the higher word of pair n, element 2 n + 1 the lower. Words closer than a line
 * share one. Wider pairs divide the area into chunks of two strides, and join the halves' lines. */
static size_t place(size_t element)
{
	size_t pair = element / 2, apart = (size_t)stride, joined = apart / LINE, lower;

	if (!joined)
		lower = pair * LINE + LAST_WORD - apart;
	else
		lower = pair / joined * 2 * apart + pair % joined * LINE + LAST_WORD;
	return element % 2 ? lower : lower + apart;
}

static size_t pairs_in(size_t bytes)
{
	size_t apart = (size_t)stride, joined = apart / LINE;

	return joined ? bytes / (2 * apart) * joined : bytes / LINE;
}

static struct chase chase = { .place = place };

/* Random pairs, each with its two words in a row, and then the words of each 64 pairs mixed. The
 * rows are made in place, from the end: only the first pair's number is where its own words come,
 * last. */
static void order_words(void)
{
	uint32_t *order = chase_order(&chase);

	chase_shuffle(&chase, 0, chase.count / 2);
	for (size_t i = chase.count; i-- > 0;)
		order[i] = order[i / 2] * 2 + (uint32_t)(i % 2);
	for (size_t from = 0; from < chase.count; from += MIXED) {
		size_t rest = chase.count - from;

		chase_shuffle(&chase, from, rest < MIXED ? rest : MIXED);
	}
}

static int arrange(void)
{
	uint64_t allowed = memory_allowed(), bytes = allowed < AREA_MOST ? allowed : AREA_MOST;
	size_t   pairs = pairs_in((size_t)bytes);
	int      outcome;

	if (!pairs)
		return fail_check("stride %" PRIu64 " is more than half of the %" PRIu64 " bytes",
		                  stride, bytes);
	if ((outcome = chase_map(&chase, bytes, 2 * pairs)))
		return outcome;
	order_words();
	chase_link(&chase);
	return 0;
}

static int run(uint64_t operations)
{
	return chase_run(&chase, operations);
}

static void teardown(void)
{
	chase_unmap(&chase);
}

static struct sweep sweep = {
	.name = "stride",
	.unit = "bytes",
	.value = &stride,
	.from = 8,
	.to = 1024,
	.steps = 1,
	.grain = 8,
	.arrange = arrange,
};

const struct workload workload_memory_line = {
	.name = "memory_line",
	.group = "memory",
	.summary = "a load from one of two words that are a stride apart, in random order",
	.operation = "load",
	.run = run,
	.teardown = teardown,
	.sweep = &sweep,
	.instructions = 1,
};
