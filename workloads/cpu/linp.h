/* linp.h -- one LINPACK benchmark of order 100, as machine code that is the same on every system.
 *
 * cpu/linp.c is compiled twice. Once with each program, by that program's compiler: linp(). And once for
 * all programs of an architecture, by fixed flags, into bytes that need nothing around them (see
 * ../build-code): linp_code, which machine_code_map makes callable on any system.
 */
#ifndef STEELYARD_LINP_H
#define STEELYARD_LINP_H

#include "../api/workload.h"

/* The calling convention that the bytes were compiled for, whatever the system's own is. */
#if defined(__x86_64__)
#define LINP_CONVENTION __attribute__((sysv_abi))
#else
#define LINP_CONVENTION
#endif

/* Makes the matrix and the right side, factors (DGEFA), solves (DGESL), makes the matrix again and
 * returns the benchmark's measure of the residual: the largest residual over
 * n * the largest element * the largest unknown * the rounding of 1. Below 0 if a pivot is zero. All of it
 * lies on the stack. */
typedef double LINP_CONVENTION linp_function(void);

linp_function linp;

/* The bytes, none where no compiler made them for this architecture. */
extern const struct machine_code linp_code;

/* The measure that the classical program prints for this matrix is 1.67; beyond 10 it is wrong. */
static inline int linp_is_right(double residual)
{
	return residual >= 0.0 && residual < 10.0;
}

#endif
