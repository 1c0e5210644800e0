/* fork_shell -- have /bin/sh execute a minimal program, and wait for its end.
 *
 * Measures     fork; the shell's start (dynamic linking where the shell is linked so, its reading
 *              of one command); the program's start as in fork_exec, in the shell's place or in a
 *              child of its own as the shell decides; exit; waitpid.
 * Leaves out   a search for the program: the command names its whole path.
 * Beware       the shell is the system's own. Where two systems share one file tree it is the same
 *              machine code; elsewhere the shells' difference is part of what is measured. The
 *              program is the load program itself, told to exit. The environment holds PATH and
 *              LC_ALL alone. With place=0 the child may begin on another processor, with place=1
 *              and 2 it stays on its maker's.
 * After        lat_proc shell of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "program.h"

/* The path comes as an argument, $0, so that no shell reads its characters as its language. */
static char *arguments[] = { "sh", "-c", "\"$0\" exit", program.own, NULL };
static char *environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

static int setup(void)
{
	if (access("/bin/sh", X_OK))
		return unsupported("there is no /bin/sh");
	if (self_emulator())
		return refuse_emulator();
	return find_program();
}

INLINED void execute_shell(void)
{
	execve("/bin/sh", arguments, environment);
}

static int run(uint64_t operations)
{
	return fork_each(operations, execute_shell, 0);
}

/* The shell's execution and the program's; how many processes that takes is the shell's affair. */
static const struct call calls[] = { { "execve", 2 }, { 0 } };

const struct workload workload_fork_shell = {
	.name      = "fork_shell",
	.group     = "process",
	.summary   = "a minimal program executed by /bin/sh -c, and the wait for it",
	.operation = "command",
	.setup     = setup,
	.run       = run,
	.calls     = calls,
};
