/* fork_exec -- make a process by fork, execute a minimal program in it, and wait for its end.
 *
 * Measures     fork; execve: opening and mapping the program's file, a new address space; the page
 *              faults and the C library's work from the program's entry to main; exit; waitpid.
 * Leaves out   dynamic linking (the program is statically linked), a search for the program (its
 *              whole path is given) and reading it from a disk (it is in memory since it runs).
 * Beware       the program is the load program itself, told to exit: the same machine code wherever
 *              the same load program runs, but another one with another C library. glibc's start
 *              asks the processor some forty times what it can (CPUID), which in a virtual machine
 *              leaves to the host each time, and may be a third of the whole. The environment is
 *              empty, the path as long as where the program was put. With place=0 the child may
 *              begin on another processor, with place=1 and 2 it stays on its maker's. A larger
 *              program takes longer to start (the load program a tenth longer than an empty one),
 *              so figures of two versions or builds of it differ by that too. Beside the ancestor,
 *              both programs static, this is 0.92 [0.87, 1.02] of its speed (bench/beside.py, 24
 *              rounds): not resolved to 3 %. Debian's lat_proc exec executes nothing, and does not
 *              say so, where /var/tmp/lmbench/hello is missing.
 * After        lat_proc exec of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "program.h"

static int run(uint64_t operations)
{
	return fork_each(operations, execute_program, 0);
}

static const struct call calls[] = { { "execve", 1 }, { "wait4", 1 }, { "exit_group", 1 }, { 0 } };

const struct workload workload_fork_exec = {
	.name      = "fork_exec",
	.group     = "process",
	.summary   = "a process made by fork that executes a minimal program, and the wait for it",
	.operation = "process",
	.setup     = find_program,
	.run       = run,
	.calls     = calls,
};
