/* memory_read -- read every byte of an area by the widest loads.
 *
 * Measures     the bandwidth of reading from whichever cache or memory holds the area, by one
 *              processor: as many bytes a second as any program gets here, or nearly. The area's
 *              two halves are read side by side, which keeps more prefetching under way than one
 *              stream.
 * Leaves out   writing, and what other processors can take at the same time (copies show that).
 * Beware       an operation is one pass over the area, and counts its size once. The loads are of
 *              16, 32 or 64 bytes (`width`), by default as wide as the processor loads whole: 32 on
 *              AMD's Zen 4 although it has 64. All is added up, by eight independent sums, and the
 *              total of each batch is checked, so no pass is skipped or shared; additions are not
 *              the limit. Areas beyond the caches depend on the pages drawn, and on who else uses
 *              the memory.
 * After        bw_mem frd of lmbench (McVoy and Staelin, 1996), which reads by words of four bytes.
 */
#include "area.h"
#include "wide.h"

static uint64_t size, width;

typedef uint64_t reads(uint64_t operations, const unsigned char *start, size_t bytes);

static struct {
	struct area area;
	struct sums sums;
	reads      *passes;
} s;

/* The sum of `operations` passes, modulo 2^64. The eight sums stay in registers from pass to pass.
 * The loads of the two halves are kept apart: two at once that are half an area from each other may
 * want the same bank of the first cache, which cost 4 % there. */
#define READ(name, vector, instructions)                                                    \
	instructions static uint64_t name(uint64_t operations, const unsigned char *start,  \
	                                  size_t bytes)                                     \
	{                                                                                   \
		vector   a = { 0 }, b = a, c = a, d = a, e = a, f = a, g = a, h = a;        \
		uint64_t sum = 0;                                                           \
                                                                                            \
		while (operations--) {                                                      \
			const vector *front = (const vector *)start;                        \
			const vector *back = (const vector *)(start + bytes / 2);           \
			const vector *end = back;                                           \
                                                                                            \
			forget(front);                                                      \
			do {                                                                \
				a += front[0];                                              \
				b += front[1];                                              \
				c += front[2];                                              \
				d += front[3];                                              \
				forget(back);                                               \
				e += back[0];                                               \
				f += back[1];                                               \
				g += back[2];                                               \
				h += back[3];                                               \
				front += 4;                                                 \
				back += 4;                                                  \
			} while (front != end);                                             \
		}                                                                           \
		a += b + c + d + e + f + g + h;                                             \
		for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)                       \
			sum += a[i];                                                        \
		return sum;                                                                 \
	}

READ(read_16, wide_16, )
READ(read_32, wide_32, WIDE_32)
READ(read_64, wide_64, WIDE_64)

static int setup(void)
{
	static reads *const ways[] = { read_16, read_32, read_64 };
	int way = wide_way(width, wide_whole());

	if (way < 0)
		return way;
	s.passes = ways[way];
	return 0;
}

static int arrange(void)
{
	int outcome = area_map(&s.area, size);

	if (!outcome)
		s.sums = area_fill(&s.area);
	return outcome;
}

static int run(uint64_t operations)
{
	uint64_t sum = s.passes(operations, s.area.start, s.area.size);

	if (sum != operations * s.sums.eights)
		return fail_check("the sum of %" PRIu64 " passes is wrong", operations);
	return 0;
}

static void teardown(void)
{
	area_unmap(&s.area);
}

static const struct parameter parameters[] = { WIDTH(&width), { 0 } };

static struct sweep sweep = AREA_SWEEP(&size, 1, arrange);

const struct workload workload_memory_read = {
	.name         = "memory_read",
	.group        = "memory",
	.summary      = "every byte of an area read by the widest loads",
	.operation    = "pass",
	.setup        = setup,
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 64,
};
