/* syscall -- ask the kernel for the parent's process number.
 *
 * Measures     the cheapest way into the kernel and back: prepare, trap, do almost nothing, restore
 *              the user's context.
 * Leaves out   the work of a call, which all other workloads have.
 * Beware       a C library may remember the answer of getpid (glibc did until 2.25), and then
 *              nothing would be measured. So the call is made by number, and it is getppid: its
 *              answer can change at any time (the parent can die), so nothing can remember it. The
 *              instructions are the same in every build (kernel_call.h): a function that returns
 *              once. The processor mispredicts that return after the kernel, which is a third of
 *              the time on some processors; every program pays this that calls the kernel through
 *              the C library.
 * After        Syscall of the PEGASUS paper (Silva), which calls getpid; lmbench calls getppid.
 */
#include "../api/kernel_call.h"
#include "../api/workload.h"

static long parent;

static int setup(void)
{
	parent = kernel_call(SYS_getppid);
	return 0;
}

static int run(uint64_t operations)
{
	REPEAT(operations, {
		if (kernel_call(SYS_getppid) != parent)
			return fail_check("the parent's process number changed during the trial");
	});
	return 0;
}

static const struct call calls[] = { { "getppid", 1 }, { 0 } };

const struct workload workload_syscall = {
	.name = "syscall",
	.group = "syscall",
	.summary = "a system call that does almost nothing (getppid)",
	.operation = "call",
	.setup = setup,
	.run = run,
	.calls = calls,
};
