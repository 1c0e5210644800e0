/* fork_shell -- have /bin/sh execute a minimal program, and wait for its end.
 *
 * Measures     fork; the shell's start (with dynamic linking, if the shell needs it) and its
 *              reading of one command; the program's start as in fork_exec, in the shell's place or
 *              in a child, as the shell decides; exit; waitpid.
 * Leaves out   a search for the program: the command names its whole path.
 * Beware       the shell is the system's own. Two systems that share a file tree have the same one;
 *              elsewhere the difference between the shells is part of what is measured. The program
 *              is the load program itself, told to exit. The environment holds only PATH and
 *              LC_ALL. With place=0 the child may start on another processor; with place=1 and 2 it
 *              stays on its parent's.
 * After        lat_proc shell of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/found.h"
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
	program_found("sh", "/bin/sh");
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
	.name = "fork_shell",
	.group = "process",
	.summary = "a minimal program executed by /bin/sh -c, and its end",
	.operation = "command",
	.setup = setup,
	.run = run,
	.calls = calls,
};
