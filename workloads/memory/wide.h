/* wide.h -- the widest loads and stores of the processor, and the size of its last-level cache,
 * found out at run time, because the program is built for the least processor of its kind.
 *
 * A macro writes each loop for vectors of 16, 32 and 64 bytes: SSE2, AVX2 and AVX-512 on x86-64.
 * Elsewhere only 16 is used, which a compiler turns into NEON or plain words.
 */
#ifndef STEELYARD_WIDE_H
#define STEELYARD_WIDE_H

#include <inttypes.h>

#include "../api/workload.h"

#ifdef __x86_64__
#include <cpuid.h>

#define WIDE_32 __attribute__((target("avx2")))
#define WIDE_64 __attribute__((target("avx512f")))
#else
#define WIDE_32
#define WIDE_64
#endif

typedef uint64_t wide_16 __attribute__((vector_size(16), may_alias));
typedef uint64_t wide_32 __attribute__((vector_size(32), may_alias));
typedef uint64_t wide_64 __attribute__((vector_size(64), may_alias));

/* Makes the compiler forget what it knows of a pointer and of memory, so that it cannot merge
 * passes. */
#define forget(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

/* The widest vector that the processor supports, and whose registers the system saves. */
static inline uint64_t wide_most(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return 64;
	if (__builtin_cpu_supports("avx2"))
		return 32;
#endif
	return 16;
}

/* The widest vector that the processor loads in one piece. AMD's family 19h (Zen 4) has vectors of
 * 64 bytes but loads them as two halves. That was never faster, and slower by a twentieth from the
 * first-level cache and by an eighth from memory. */
static inline uint64_t wide_whole(void)
{
#ifdef __x86_64__
	if (wide_most() == 64 && __builtin_cpu_is("amdfam19h"))
		return 32;
#endif
	return wide_most();
}

/* The index of the width among 16, 32 and 64: of `asked`, or of `own` if that is 0. Returns what
 * unsupported() returned if the processor does not have it. */
static inline int wide_way(uint64_t asked, uint64_t own)
{
	uint64_t bytes = asked ? asked : own;

	for (int way = 0; way < 3; way++)
		if (bytes == (uint64_t)16 << way && bytes <= wide_most())
			return way;
	return unsupported("this processor has no loads and stores of %" PRIu64 " bytes", bytes);
}

/* The bytes of the largest cache that the processor reports, in Intel's leaf or AMD's; if it
 * reports none, a typical size. */
static inline uint64_t last_cache(void)
{
	uint64_t most = 0;

#ifdef __x86_64__
	static const unsigned leaves[] = { 4, 0x8000001d };

	for (unsigned i = 0; i < 2 * 16; i++) {
		unsigned a, b, c, d;
		uint64_t bytes;

		if (!__get_cpuid_count(leaves[i / 16], i % 16, &a, &b, &c, &d) || !(a & 31))
			continue;
		bytes = (uint64_t)((b & 4095) + 1) * ((b >> 12 & 1023) + 1) * ((b >> 22) + 1);
		if (bytes * (c + 1) > most)
			most = bytes * (c + 1);
	}
#endif
	return most ? most : 32 << 20;
}

/* The size from which that many areas hardly fit into the caches: `asked`, or if that is 0, where
 * they are together larger than three quarters of the last-level cache. */
static inline uint64_t far_size(uint64_t asked, uint64_t areas)
{
	return asked ? asked : last_cache() / 4 * 3 / areas + 1;
}

/* Prefetches 1, 2 or 4 lines, 256 bytes ahead, for one use. Beyond the caches the processor's own
 * prefetching left a fifth of the bandwidth unused; within them this costs more than it gains. */
#define AHEAD_0(at)
#define AHEAD_1(at) __builtin_prefetch((const char *)(at) + 256, 0, 0)
#define AHEAD_2(at) AHEAD_1(at), AHEAD_1((const char *)(at) + 64)
#define AHEAD_4(at) AHEAD_2(at), AHEAD_2((const char *)(at) + 128)

#define WIDTH(value)                                                                              \
	NUMBER("width", "bytes per instruction: 16, 32 or 64; 0: the processor's best", value, 0, \
	       64)

#endif
