/* fork_exec -- create a process by fork, execute a minimal program in it, and wait for its end.
 *
 * Measures     fork; execve, which opens and maps the program's file and makes a new address space;
 *              the page faults and the C library's work from the program's entry to main; exit;
 *              waitpid.
 * Leaves out   dynamic linking (the program is static), a search for the program (its whole path is
 *              given), and reading it from a disk (it is in memory, because it runs).
 * Beware       the program is the load program itself, told to exit: the same machine code wherever
 *              the same load program runs, but different code with another C library. At its start
 *              glibc asks the processor some forty times for its features (CPUID). In a virtual
 *              machine each of these leaves to the host, and all of them may be a third of the
 *              time. The environment is empty; the length of the path depends on where the program
 *              was put. With place=0 the child may start on another processor; with place=1 and 2
 *              it stays on its parent's. A larger program takes longer to start (the load program a
 *              tenth longer than an empty one), so two versions or builds also differ by this.
 *              Compared with the ancestor, both programs static, the speed is 0.92 [0.87, 1.02]
 *              (bench/beside.py, 24 rounds): not resolved to 3 %. The ancestor executes a program
 *              of 760 KB if it is static, a quarter of this one. With the workload `command` this
 *              program took 1.08 [0.83, 1.33] times as long as that one, and a dynamic one 1.49
 *              [0.98, 2.12] times (8 rounds on a busy machine): dynamic linking is the larger part.
 *              Debian's lat_proc exec executes nothing, and does not say so, if
 *              /var/tmp/lmbench/hello is missing.
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
	.name = "fork_exec",
	.group = "process",
	.summary = "a process created by fork that executes a minimal program, and its end",
	.operation = "process",
	.setup = find_program,
	.run = run,
	.calls = calls,
};
