/* linp.h -- a LINPACK benchmark of order 100, as machine code that is the same on every system.
 *
 * cpu/linp.c is compiled twice: linp() by each program's own compiler, and linp_code once for all
 * programs of an architecture, by fixed flags, into bytes that need nothing around them
 * (../build-code). machine_code_map makes those callable on any system.
 */
#ifndef STEELYARD_LINP_H
#define STEELYARD_LINP_H

#include "../api/workload.h"

/* The calling convention for which the bytes were compiled, whatever the system's own is. */
#if defined(__x86_64__)
#define LINP_CONVENTION __attribute__((sysv_abi))
#else
#define LINP_CONVENTION
#endif

/* Makes the matrix and the right side, factors (DGEFA), solves (DGESL), and makes the matrix again.
 * Returns the benchmark's measure of the residual: the largest residual over n * the largest
 * element * the largest unknown * the rounding of 1; or less than 0 if a pivot is zero. Uses only
 * the stack. */
typedef double LINP_CONVENTION linp_function(void);

linp_function linp;

/* The bytes; none if no compiler made them for this architecture. */
extern const struct machine_code linp_code;

/* The classical program prints 1.67 for this matrix; more than 10 is wrong. */
static inline int linp_is_right(double residual)
{
	return residual >= 0.0 && residual < 10.0;
}

#endif
