/* compiler.h -- what a compiler is told beside the C language. */
#ifndef STEELYARD_COMPILER_H
#define STEELYARD_COMPILER_H

/* Formats are those of the C standard; the compiler for Windows would check its own. */
#ifdef __MINGW32__
#define FORMAT_OF(argument, first) __attribute__((format(gnu_printf, argument, first)))
#else
#define FORMAT_OF(argument, first) __attribute__((format(printf, argument, first)))
#endif

/* Keeps a computed value: makes the compiler believe that something reads it. */
#define keep(value) __asm__ volatile("" : : "r,m"(value) : "memory")

/* A function that the compiler neither inlines nor looks into: because its entries are counted, or
 * because its caller must not know what it does. */
#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noipa))
#endif

/* A function that is always inlined: for a part of what is timed. */
#define INLINED static inline __attribute__((always_inline))

#endif
