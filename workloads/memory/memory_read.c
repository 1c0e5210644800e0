/* memory_read -- read every byte of an area by the widest loads.
 *
 * Measures     the bandwidth of reading from the cache or memory that holds the area, by one
 *              processor: as many bytes per second as any program gets here, or nearly. It reads
 *              the two halves of the area side by side, which keeps more prefetches in flight than
 *              one stream does.
 * Leaves out   writing, and what other processors can take at the same time (copies show that).
 * Beware       an operation is one pass over the area, and counts its size once. Each load takes
 *              16, 32 or 64 bytes (`width`), by default as many as the processor loads in one
 *              piece: 32 on AMD's Zen 4, although it has 64. From `ahead_from` on, lines are also
 *              prefetched 256 bytes ahead; by default this begins where the area is larger than
 *              three quarters of the last-level cache (taken as 32 MiB if the processor does not
 *              say). Eight independent sums add everything up, and the total of each batch is
 *              checked, so no pass can be skipped or shared; the additions are not the limit.
 *              Beyond the caches the speed depends on the pages drawn, and on who else uses the
 *              memory. bw_mem rd of lmbench counts bytes that it skips (memory_read_partial follows
 *              it): compared with its rate, this one is 1.98 [1.92, 2.12] at 16 KiB and 1.22 [1.15,
 *              1.31] at 512 KiB (bench/beside.py, 24 rounds).
 * After        bw_mem frd of lmbench (McVoy and Staelin, 1996), which reads four bytes at a time.
 */
#include "filled.h"
#include "wide.h"

typedef uint64_t reads(uint64_t operations, const unsigned char *start, size_t bytes);

static uint64_t width, ahead_from, least_far;
static int      way;

/* The sum of `operations` passes, modulo 2^64. The eight sums stay in registers from pass to pass.
 * The loads of the two halves are kept apart: two at once that are half an area from each other may
 * want the same bank of the first cache, which cost 4 % there. */
#define READ(name, vector, instructions, ahead)                                            \
	instructions static uint64_t name(uint64_t operations, const unsigned char *start, \
	                                  size_t bytes)                                    \
	{                                                                                  \
		vector   a = { 0 }, b = a, c = a, d = a, e = a, f = a, g = a, h = a;       \
		uint64_t sum = 0;                                                          \
                                                                                           \
		while (operations--) {                                                     \
			const vector *front = (const vector *)start;                       \
			const vector *back = (const vector *)(start + bytes / 2);          \
			const vector *end = back;                                          \
                                                                                           \
			forget(front);                                                     \
			do {                                                               \
				ahead(front);                                              \
				a += front[0];                                             \
				b += front[1];                                             \
				c += front[2];                                             \
				d += front[3];                                             \
				forget(back);                                              \
				ahead(back);                                               \
				e += back[0];                                              \
				f += back[1];                                              \
				g += back[2];                                              \
				h += back[3];                                              \
				front += 4;                                                \
				back += 4;                                                 \
			} while (front != end);                                            \
		}                                                                          \
		a += b + c + d + e + f + g + h;                                            \
		for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)                      \
			sum += a[i];                                                       \
		return sum;                                                                \
	}

READ(near_16, wide_16, , AHEAD_0)
READ(near_32, wide_32, WIDE_32, AHEAD_0)
READ(near_64, wide_64, WIDE_64, AHEAD_0)
READ(far_16, wide_16, , AHEAD_1)
READ(far_32, wide_32, WIDE_32, AHEAD_2)
READ(far_64, wide_64, WIDE_64, AHEAD_4)

static int setup(void)
{
	way = wide_way(width, wide_whole());
	least_far = far_size(ahead_from, 1);
	return way < 0 ? way : 0;
}

static int run(uint64_t operations)
{
	static reads *const ways[2][3] = { { near_16, near_32, near_64 },
		                           { far_16, far_32, far_64 } };
	uint64_t sum = ways[size >= least_far][way](operations, s.area.start, s.area.size);

	return sum == operations * s.sums.eights ? 0 : sum_is_wrong(operations);
}

static const struct parameter parameters[] = {
	WIDTH(&width),
	NUMBER("ahead_from", "size from which lines are prefetched; 0: by the last-level cache",
	       &ahead_from, 0, UINT64_MAX / 4),
	{ 0 },
};

const struct workload workload_memory_read = {
	.name = "memory_read",
	.group = "memory",
	.summary = "every byte of an area read by the widest loads",
	.operation = "pass",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 64,
};
