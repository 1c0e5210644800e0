/* memory_copy -- copy an area to another by the widest loads and stores.
 *
 * Measures     the bandwidth of copying within and between the caches and memory, by one processor,
 *              as fast as any program copies here, or nearly. It walks through both areas in two
 *              halves, side by side.
 * Leaves out   areas that are not aligned to each other, and the C library (memory_copy_libc).
 * Beware       an operation is one pass. It counts each byte copied once, although the byte is read
 *              and written (STREAM counts it twice). Up to a size the stores are ordinary ones.
 *              From `bypass_from` on they bypass the caches, as C libraries do, and lines are
 *              prefetched 256 bytes ahead; by default this begins where both areas together are
 *              larger than three quarters of the last-level cache (taken as 32 MiB if the processor
 *              does not say). Stores bypass a cache only on x86-64. Each instruction handles 16, 32
 *              or 64 bytes (`width`), by default as many as the processor loads in one piece. Each
 *              batch puts new numbers into three places of the source, which must arrive in the
 *              copy.
 * After        bw_mem fcp of lmbench (McVoy and Staelin, 1996), which copies four bytes at a time.
 */
enum { WORDS_PASSED = 4 }; /* of each cell: all */

#include "copying.h"
#include "wide.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef void copies(uint64_t operations, unsigned char *to, const unsigned char *from,
                    size_t bytes);

static uint64_t width, bypass_from, least_far;
static int      way;

/* Four vectors at a time are loaded, then stored by put(), of the front half, then of the back. */
#define COPY_4(vector, put, to, from)                                                  \
	do {                                                                           \
		vector a_ = (from)[0], b_ = (from)[1], c_ = (from)[2], d_ = (from)[3]; \
                                                                                       \
		put((to), a_);                                                         \
		put((to) + 1, b_);                                                     \
		put((to) + 2, c_);                                                     \
		put((to) + 3, d_);                                                     \
	} while (0)

#define COPY(name, vector, instructions, ahead, put, finish)                               \
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
				ahead(source);                                             \
				COPY_4(vector, put, destination, source);                  \
				ahead(source + half);                                      \
				COPY_4(vector, put, destination + half, source + half);    \
				source += 4;                                               \
				destination += 4;                                          \
				forget(destination);                                       \
			} while (source != end);                                           \
			finish;                                                            \
		}                                                                          \
	}

#define PUT(to, value) (*(to) = (value))

COPY(near_16, wide_16, , AHEAD_0, PUT, )
COPY(near_32, wide_32, WIDE_32, AHEAD_0, PUT, )
COPY(near_64, wide_64, WIDE_64, AHEAD_0, PUT, )

#ifdef __x86_64__
#define PUT_16(to, value) _mm_stream_si128((__m128i *)(to), (__m128i)(value))
#define PUT_32(to, value) _mm256_stream_si256((__m256i *)(to), (__m256i)(value))
#define PUT_64(to, value) _mm512_stream_si512((void *)(to), (__m512i)(value))
#define FENCE             _mm_sfence()
#else
#define PUT_16 PUT
#define PUT_32 PUT
#define PUT_64 PUT
#define FENCE
#endif

/* The fence: a pass has ended when its last line has left the processor. */
COPY(far_16, wide_16, , AHEAD_1, PUT_16, FENCE)
COPY(far_32, wide_32, WIDE_32, AHEAD_2, PUT_32, FENCE)
COPY(far_64, wide_64, WIDE_64, AHEAD_4, PUT_64, FENCE)

static int setup(void)
{
	way = wide_way(width, wide_whole());
	least_far = far_size(bypass_from, 2);
	return way < 0 ? way : 0;
}

static void passes(uint64_t operations)
{
	static copies *const ways[2][3] = { { near_16, near_32, near_64 },
		                            { far_16, far_32, far_64 } };

	ways[size >= least_far][way](operations, s.copy, s.source.start, s.source.size);
}

static const struct parameter parameters[] = {
	WIDTH(&width),
	NUMBER("bypass_from",
	       "size from which stores bypass the caches; 0: by the last-level cache", &bypass_from,
	       0, UINT64_MAX / 4),
	{ 0 },
};

const struct workload workload_memory_copy = {
	.name = "memory_copy",
	.group = "memory",
	.summary = "an area copied to another by the widest loads and stores",
	.operation = "pass",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.sweep = &sweep,
	.bytes = &size,
	.instructions = 128,
};
