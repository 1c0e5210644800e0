/* fork_exit -- make a process that ends at once, and wait for its end.
 *
 * Measures     fork as the C library has it: copying the address space's page tables and the open
 *              files, the new process's first turn, its end, the wake-up of its maker, and its
 *              removal by waitpid.
 * Leaves out   a new program (fork_exec) and a new address space's filling.
 * Beware       a fork takes the longer the more memory the maker has: this one is a small,
 *              statically linked program with some twenty pages of its own. Each fork makes both
 *              processes copy the pages that they write next (copy on write), and that is part of
 *              the time. With place=0 the child may begin on another processor, with place=1 and 2
 *              it stays on its maker's. Beside the ancestor, linked statically too, this is 1.22
 *              [1.17, 1.31] times as fast, beside Debian's, which is linked dynamically, 1.83
 *              [1.75, 1.91] (bench/beside.py, 24 rounds); what makes the first is not resolved.
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
	.name      = "fork_exit",
	.group     = "process",
	.summary   = "a process made by fork that exits at once, and the wait for it",
	.operation = "process",
	.run       = run,
	.calls     = calls,
};
