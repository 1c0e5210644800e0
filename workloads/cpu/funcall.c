/* funcall -- call a function that adds three variables.
 *
 * Measures     passing three arguments, the call, two additions, the return, and storing the
 *              answer.
 * Leaves out   system calls: the kernel takes no part except for its clock ticks.
 * Beware       a compiler that sees the body removes the calls, by a copy (inlining), a specialised
 *              clone (interprocedural analysis) or one multiplication. So the function is noinline,
 *              and noipa where the compiler knows that; its arguments are read from volatile
 *              variables each time, and its answer is stored to one. A test counts the entries into
 *              add_three from outside.
 * After        Funcall of the PEGASUS paper (Silva).
 */
#include "../api/workload.h"

static volatile int first = 1, second = 20, third = 300, sum;

APART int add_three(int a, int b, int c);
APART int add_three(int a, int b, int c)
{
	return a + b + c;
}

static int run(uint64_t operations)
{
	REPEAT(operations, sum = add_three(first, second, third));
	if (sum != 321)
		return fail_check("1 + 20 + 300 gave %d", sum);
	return 0;
}

const struct workload workload_funcall = {
	.name = "funcall",
	.group = "cpu",
	.summary = "a call of a function that adds three variables",
	.operation = "call",
	.run = run,
	.counted = (void (*)(void))add_three,
};
