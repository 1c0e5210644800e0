/* linpack -- the LINPACK benchmark of order 100, by the same machine code on every system.
 *
 * Measures     multiplications and additions in double precision, 686667 by the benchmark's own
 *              count, 2/3 n^3 + 2 n^2 with n = 100. An operation is one call of linp (cpu/linp.c):
 *              it makes the matrix, factors it (DGEFA: Gaussian elimination with partial pivoting,
 *              by columns), solves (DGESL), and makes the matrix again for the residual. The code
 *              is bytes that were compiled once; they are put into memory and made executable. So
 *              neither a compiler nor a library makes a difference between systems; the machine and
 *              the kernel do.
 * Leaves out   the compiler (linpack_compiled), and memory beyond the second-level cache: it
 *              touches only 163 KB of its stack, which is brought in before anything is timed.
 * Beware       making the matrix twice is some 15 % of the time, and computing the residual 2 %.
 *              The code uses only the architecture's baseline (x86-64: SSE2, no fused
 *              multiply-add), so the residual of each call is the same to the last bit. Records
 *              carry the SHA-256 of the bytes: times of different bytes compare compilers.
 * After        the LINPACK benchmark (Dongarra, Bunch, Moler and Stewart, 1979); Gonçalves
 *              (IME-USP, 2001), who compared Linux and Windows NT by one machine code, and lost
 *              processes because the stack had not been checked.
 */
#include "linp.h"

static struct {
	void          *callable;
	linp_function *solve;
	double         residual;
} s;

static int setup(void)
{
	int outcome = machine_code_map(&linp_code, &s.callable);

	if (outcome)
		return outcome;
	*(void **)(void *)&s.solve = s.callable; /* ISO C has no cast from data to code */
	return stack_take(linp_code.stack);
}

__attribute__((noinline)) void linpack_call(void);
__attribute__((noinline)) void linpack_call(void)
{
	s.residual = s.solve();
}

static int run(uint64_t operations)
{
	while (operations--) {
		linpack_call();
		if (!linp_is_right(s.residual))
			return fail_check("the residual is %g units of rounding", s.residual);
	}
	return 0;
}

static void teardown(void)
{
	machine_code_unmap(&linp_code, &s.callable);
}

const struct workload workload_linpack = {
	.name = "linpack",
	.group = "cpu",
	.summary = "a linear system of order 100, by the same machine code on every system",
	.operation = "system of equations",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.code = &linp_code,
	.regains_ns = 1000000,
	.counted = linpack_call,
	.instructions = 100000,
};
