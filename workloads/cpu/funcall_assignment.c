/* funcall_assignment -- assign to a variable, directly and by a function.
 *
 * Measures     in "direct", an assignment to a variable. In "call", the same assignment made by a
 *              function, less the direct one: what the call adds, of which the paper says that the
 *              better the compiler, the smaller it is.
 * Leaves out   arguments and an answer (funcall). System calls.
 * Beware       a compiler that sees the body makes both alike, and the difference 0. So the
 *              function is noinline, and noipa where the compiler knows that; the variable is
 *              volatile. What is not more than the direct assignment is left out and reported. The
 *              processor may do other work during the call.
 * After        the other form of Funcall in the PEGASUS paper (Silva).
 */
#include "../api/workload.h"

static volatile uint32_t variable;

APART void assign(uint32_t value);
APART void assign(uint32_t value)
{
	variable = value;
}

static int check(uint64_t operations)
{
	return variable == (uint32_t)operations
	               ? 0
	               : fail_check("the variable is %u after %llu assignments", variable,
	                            (unsigned long long)operations);
}

static int run_direct(uint64_t operations)
{
	uint32_t value = 0;

	REPEAT(operations, variable = ++value);
	return check(operations);
}

static int run_call(uint64_t operations)
{
	uint32_t value = 0;

	REPEAT(operations, assign(++value));
	return check(operations);
}

static const struct phase phases[] = {
	{ .metric = "direct", .run = run_direct },
	{ .metric = "call", .run = run_call, .less = "direct" },
	{ 0 },
};

const struct workload workload_funcall_assignment = {
	.name = "funcall_assignment",
	.group = "cpu",
	.summary = "an assignment to a variable, directly and by a function",
	.operation = "assignment",
	.phases = phases,
	.counted = (void (*)(void))assign,
};
