/* vfork_exec -- create a process by vfork, execute a minimal program in it, and wait for its end.
 *
 * Measures     the same as fork_exec, except that the child borrows its parent's address space
 *              until it executes the program: no page table and no page is copied, and the parent
 *              sleeps meanwhile.
 * Leaves out   what fork_exec leaves out.
 * Beware       POSIX has dropped vfork, and a system may make it the same as fork; then this equals
 *              fork_exec. The program is the load program itself, told to exit, with an empty
 *              environment. With place=0 the child may start on another processor; with place=1 and
 *              2 it stays on its parent's.
 * After        lat_proc exec of lmbench (McVoy and Staelin, 1996), which forks.
 */
#include "../api/workload.h"
#include "program.h"

/* Apart from the loop, because a child of vfork must not change a variable that its maker goes on
 * to use, not even one that the compiler has put on the stack. */
__attribute__((noinline)) static pid_t start(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execute_program();
		_exit(NOT_EXECUTED);
	}
	return child;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		pid_t child = start();

		if (child < 0)
			return fail("vfork");
		outcome = await_exit(child, 0);
	}
	return outcome;
}

static const struct call calls[] = { { "execve", 1 }, { "wait4", 1 }, { "exit_group", 1 }, { 0 } };

const struct workload workload_vfork_exec = {
	.name = "vfork_exec",
	.group = "process",
	.summary = "a process created by vfork that executes a minimal program, and its end",
	.operation = "process",
	.setup = find_program,
	.run = run,
	.calls = calls,
};
