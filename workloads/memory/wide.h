/* wide.h -- the widest loads and stores that the processor has, chosen where the program runs: the
 * program is built for the least processor of its kind.
 *
 * A loop is written once, by a macro, for vectors of 16, 32 and 64 bytes: SSE2, AVX2 and AVX-512 on
 * x86-64. Elsewhere only 16 is ever chosen, which a compiler makes NEON of, or plain words.
 */
#ifndef STEELYARD_WIDE_H
#define STEELYARD_WIDE_H

#include <inttypes.h>

#include "../workload.h"

#ifdef __x86_64__
#define WIDE_32 __attribute__((target("avx2")))
#define WIDE_64 __attribute__((target("avx512f")))
#else
#define WIDE_32
#define WIDE_64
#endif

typedef uint64_t wide_16 __attribute__((vector_size(16), may_alias));
typedef uint64_t wide_32 __attribute__((vector_size(32), may_alias));
typedef uint64_t wide_64 __attribute__((vector_size(64), may_alias));

/* Makes the compiler forget what it knows of a pointer and of memory: no passes become one. */
#define forget(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

/* The widest vector that both the processor and the system's saving of registers support. */
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

/* The widest vector that the processor loads whole. AMD's family 19h (Zen 4) has vectors of 64
 * bytes and loads them as two halves: as fast from its caches, but slower from memory by an eighth,
 * as measured. */
static inline uint64_t wide_whole(void)
{
#ifdef __x86_64__
	if (wide_most() == 64 && __builtin_cpu_is("amdfam19h"))
		return 32;
#endif
	return wide_most();
}

/* Which of the widths 16, 32, 64, as 0, 1, 2: the one `asked` for, or `own` where that is 0.
 * Returns what unsupported() did if the processor has none such. */
static inline int wide_way(uint64_t asked, uint64_t own)
{
	uint64_t bytes = asked ? asked : own;

	for (int way = 0; way < 3; way++)
		if (bytes == (uint64_t)16 << way && bytes <= wide_most())
			return way;
	return unsupported("this processor has no loads and stores of %" PRIu64 " bytes", bytes);
}

#define WIDTH(value) \
	NUMBER("width", "bytes per instruction: 16, 32, 64; 0: the processor's own", value, 0, 64)

#endif
