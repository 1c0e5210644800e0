/* fork_exit -- create a process that ends at once, and wait for its end.
 *
 * Measures     the C library's fork, which copies the page tables and the open files; the new
 *              process's first turn; its end; the wake-up of its parent; and its removal by
 *              waitpid.
 * Leaves out   a new program (fork_exec), and filling a new address space.
 * Beware       the more memory a process has, the longer its fork takes. This one is a small static
 *              program with some twenty pages of its own. After a fork both processes copy the
 *              pages that they write next (copy on write), which is part of the time. With place=0
 *              the child may start on another processor; with place=1 and 2 it stays on its
 *              parent's. It is 1.22 [1.17, 1.31] times as fast as the ancestor, both static, and
 *              1.83 [1.75, 1.91] times as fast as Debian's, which is linked dynamically
 *              (bench/beside.py, 24 rounds). The cause of the first is not resolved; an
 *              ancestor whose child calls _exit in place of exit is no nearer (1.38 [1.10, 1.78], 8
 *              rounds on a busy machine).
 * After        lat_proc fork of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "program.h"

enum { STATUS = 42 }; /* that nobody returns by mistake: it proves that the child ran */

INLINED void end(void)
{
	_exit(STATUS);
}

static int run(uint64_t operations)
{
	return fork_each(operations, end, STATUS);
}

static const struct call calls[] = { { "wait4", 1 }, { "exit_group", 1 }, { 0 } };

const struct workload workload_fork_exit = {
	.name = "fork_exit",
	.group = "process",
	.summary = "a process created by fork that exits at once, and its end",
	.operation = "process",
	.run = run,
	.regains_ns = 400000,
	.calls = calls,
};
