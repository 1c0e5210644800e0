/* memory_copy -- copy an area to another by the widest loads and stores.
 *
 * Measures     the bandwidth of copying within and between the caches and memory, by one processor,
 *              as fast as any program copies here, or nearly. Both areas are walked in two halves,
 *              side by side.
 * Leaves out   addresses that are not aligned to each other, and the C library: memory_copy_libc.
 * Beware       an operation is one pass, and counts each byte copied once, although it is read and
 *              written (STREAM counts it twice). Up to a size the stores are ordinary ones; from
 *              there on they bypass the caches, as C libraries do also: from where both areas
 *              together are larger than three quarters of the processor's last-level cache (32 MiB
 *              are taken for it where it does not say), or from `bypass_from`. Elsewhere than on
 *              x86-64 they never do. The instructions are of 16, 32 or 64 bytes (`width`), by
 *              default as wide as the processor loads whole. Each batch finds new numbers in three
 *              places of the source, and must have brought them to the destination.
 * After        bw_mem fcp of lmbench (McVoy and Staelin, 1996), which copies by words of four
 *              bytes.
 */
#include "area.h"
#include "wide.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

static uint64_t size, width, bypass_from;

typedef void copies(uint64_t operations, unsigned char *to, const unsigned char *from,
                    size_t bytes);

static struct {
	struct area source, destination;
	int         way;
	uint64_t    bypass_from;
	copies     *passes;
} s;

/* Four vectors at a time are loaded, then stored by put(), of the front half, then of the back. */
#define COPY_4(vector, put, to, from)                                           \
	do {                                                                    \
		vector a_ = (from)[0], b_ = (from)[1], c_ = (from)[2], d_ = (from)[3]; \
                                                                                \
		put((to), a_);                                                  \
		put((to) + 1, b_);                                              \
		put((to) + 2, c_);                                              \
		put((to) + 3, d_);                                              \
	} while (0)

#define COPY(name, vector, instructions, put, finish)                                      \
	instructions static void name(uint64_t operations, unsigned char *to,              \
	                              const unsigned char *from, size_t bytes)             \
	{                                                                                  \
		size_t half = bytes / 2 / sizeof(vector);                                  \
                                                                                           \
		while (operations--) {                                                     \
			const vector *source = (const vector *)from, *end = source + half; \
			vector       *destination = (vector *)to;                          \
                                                                                           \
			forget(source);                                                    \
			do {                                                               \
				COPY_4(vector, put, destination, source);                  \
				COPY_4(vector, put, destination + half, source + half);    \
				source += 4;                                               \
				destination += 4;                                          \
				forget(destination);                                       \
			} while (source != end);                                           \
			finish;                                                            \
		}                                                                          \
	}

#define PUT(to, value) (*(to) = (value))

COPY(copy_16, wide_16, , PUT, )
COPY(copy_32, wide_32, WIDE_32, PUT, )
COPY(copy_64, wide_64, WIDE_64, PUT, )

#ifdef __x86_64__
#define PUT_BY_16(to, value) _mm_stream_si128((__m128i *)(to), (__m128i)(value))
#define PUT_BY_32(to, value) _mm256_stream_si256((__m256i *)(to), (__m256i)(value))
#define PUT_BY_64(to, value) _mm512_stream_si512((void *)(to), (__m512i)(value))

/* The fence: a pass has ended when its last line has left the processor. */
COPY(bypass_16, wide_16, , PUT_BY_16, _mm_sfence())
COPY(bypass_32, wide_32, WIDE_32, PUT_BY_32, _mm_sfence())
COPY(bypass_64, wide_64, WIDE_64, PUT_BY_64, _mm_sfence())

/* The bytes of the largest cache that the processor tells of, or 0: Intel's leaf, then AMD's. */
static uint64_t last_cache(void)
{
	static const unsigned leaves[] = { 4, 0x8000001d };
	uint64_t              most = 0, bytes;

	for (size_t leaf = 0; leaf < sizeof(leaves) / sizeof(leaves[0]); leaf++)
		for (unsigned cache = 0; cache < 16; cache++) {
			unsigned a, b, c, d;
			uint64_t line;

			if (!__get_cpuid_count(leaves[leaf], cache, &a, &b, &c, &d) || !(a & 31))
				break;
			line = (uint64_t)((b & 4095) + 1) * ((b >> 12 & 1023) + 1);
			bytes = line * ((b >> 22) + 1) * (c + 1);
			if (bytes > most)
				most = bytes;
		}
	return most;
}

static uint64_t bypass_size(void)
{
	uint64_t cache = last_cache();

	return (cache ? cache : 32 << 20) / 4 * 3 / 2 + 1;
}
#else
#define bypass_16 copy_16
#define bypass_32 copy_32
#define bypass_64 copy_64

static uint64_t bypass_size(void)
{
	return UINT64_MAX;
}
#endif

static int setup(void)
{
	s.way = wide_way(width, wide_whole());
	s.bypass_from = bypass_from ? bypass_from : bypass_size();
	return s.way < 0 ? s.way : 0;
}

static int arrange(void)
{
	static copies *const ways[2][3] = { { copy_16, copy_32, copy_64 },
		                            { bypass_16, bypass_32, bypass_64 } };
	int outcome;

	if ((outcome = area_map(&s.source, size)) || (outcome = area_map(&s.destination, size)))
		return outcome;
	area_fill(&s.source);
	s.passes = ways[size >= s.bypass_from][s.way];
	s.passes(1, s.destination.start, s.source.start, s.source.size);
	if (size <= AREA_COMPARED_MOST &&
	    memcmp(s.destination.start, s.source.start, s.source.size))
		return fail_check("the destination differs from the source");
	return 0;
}

static int run(uint64_t operations)
{
	size_t cells[CELLS_JUDGED];

	cells_draw(&s.source, cells);
	for (int i = 0; i < CELLS_JUDGED; i++)
		cell_write(&s.source, cells[i], cell_of(number_draw()));
	s.passes(operations, s.destination.start, s.source.start, s.source.size);
	for (int i = 0; i < CELLS_JUDGED; i++) {
		struct cell right = cell_read(&s.source, cells[i]);
		struct cell found = cell_read(&s.destination, cells[i]);

		if (memcmp(&found, &right, sizeof(right)))
			return fail_check("cell %zu was not copied", cells[i]);
	}
	return 0;
}

static void teardown(void)
{
	area_unmap(&s.source);
	area_unmap(&s.destination);
}

static const struct parameter parameters[] = {
	WIDTH(&width),
	NUMBER("bypass_from", "size from which stores bypass the caches; 0: by the last cache's",
	       &bypass_from, 0, UINT64_MAX / 4),
	{ 0 },
};

static struct sweep sweep = AREA_SWEEP(&size, 2, arrange);

const struct workload workload_memory_copy = {
	.name         = "memory_copy",
	.group        = "memory",
	.summary      = "an area copied to another by the widest loads and stores",
	.operation    = "pass",
	.setup        = setup,
	.run          = run,
	.teardown     = teardown,
	.parameters   = parameters,
	.sweep        = &sweep,
	.bytes        = &size,
	.instructions = 128,
};
