/* linpack_compiled -- the LINPACK benchmark of order 100, as this program's compiler translated it.
 *
 * Measures     the same source as linpack, compiled with the rest of this program. The difference
 *              between the two is the effect of the compiler and its flags alone.
 * Leaves out   memory beyond the second-level cache, and the kernel.
 * Beware       compilers differ: at -O2 some handle two elements by one instruction and some do
 *              not. So compare systems by the same program, or by linpack. If the machine has a
 *              fused multiply-add (not in baseline x86-64), a compiler may use it; the check of the
 *              residual allows for its rounding.
 * After        the LINPACK benchmark (Dongarra, Bunch, Moler and Stewart, 1979) of order 100.
 */
#include "linp.h"

static int setup(void)
{
	return stack_take(linp_code.stack);
}

static double residual;

__attribute__((noinline)) void linpack_compiled_call(void);
__attribute__((noinline)) void linpack_compiled_call(void)
{
	residual = linp();
}

static int run(uint64_t operations)
{
	while (operations--) {
		linpack_compiled_call();
		if (!linp_is_right(residual))
			return fail_check("the residual is %g units of rounding", residual);
	}
	return 0;
}

const struct workload workload_linpack_compiled = {
	.name = "linpack_compiled",
	.group = "cpu",
	.summary = "a linear system of order 100, as this program's compiler translated it",
	.operation = "system of equations",
	.setup = setup,
	.run = run,
	.regains_ns = 1000000,
	.counted = linpack_compiled_call,
	.instructions = 100000,
};
