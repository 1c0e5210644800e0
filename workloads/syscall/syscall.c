/* syscall -- ask the kernel for the parent's process number.
 *
 * Measures     the cheapest entry into the kernel and back: prepare, trap, do almost nothing,
 *              restore the user's context.
 * Leaves out   any work that a call does; that is every other workload.
 * Beware       libc may remember getpid's answer (glibc did until 2.25), and then nothing is
 *              measured: so the call is made by number. getppid, because its answer may change at
 *              any time (the parent can die), so nobody below can remember it either. The
 *              instructions are the same in every build (kernel_call.h), a function that returns
 *              once: that return is mispredicted after the kernel, which is a third of the figure on
 *              some processors, and which every program pays that calls the kernel through libc.
 * After        Syscall of the PEGASUS paper (Silva), there getpid; getppid as in lmbench.
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
	.name      = "syscall",
	.group     = "syscall",
	.summary   = "a system call that does almost nothing (getppid)",
	.operation = "call",
	.setup     = setup,
	.run       = run,
	.calls     = calls,
};
