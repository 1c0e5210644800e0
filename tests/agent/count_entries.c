/* count_entries.c -- counts, from outside, how often a program enters one address.
 *
 *	count_entries ADDRESS PROGRAM ARGUMENT ...
 *
 * A breakpoint at the address in every process that the program makes by fork or exec; the count
 * goes to standard error. The program is not linked for it and knows nothing of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long address;
static unsigned long entries;

static long original;

static void set_breakpoint(pid_t pid)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);

	if (errno)
		return; /* another program, which has nothing there */
	if ((word & 0xff) == 0xcc)
		return; /* inherited by fork */
	original = word;
	ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffL) | 0xcc);
}

/* Steps over the breakpoint: the instruction back, one step, the breakpoint again. */
static void enter(pid_t pid, struct user_regs_struct *registers)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
	int  status;

	entries++;
	registers->rip = address;
	ptrace(PTRACE_SETREGS, pid, 0, registers);
	ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffL) | (original & 0xff));
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	waitpid(pid, &status, __WALL);
	ptrace(PTRACE_POKETEXT, pid, address, word);
}

int main(int argc, char *argv[])
{
	int   status, pass;
	pid_t pid;

	if (argc < 3)
		return 2;
	address = strtoul(argv[1], NULL, 0);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, pid, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct user_regs_struct registers;

		if (!WIFSTOPPED(status))
			continue;
		pass = 0;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			set_breakpoint(pid);
		} else if (status >> 8 == SIGTRAP) {
			ptrace(PTRACE_GETREGS, pid, 0, &registers);
			if (registers.rip == address + 1)
				enter(pid, &registers);
		} else if (WSTOPSIG(status) != SIGSTOP && !(status >> 16)) {
			pass = WSTOPSIG(status);
		}
		ptrace(PTRACE_CONT, pid, 0, pass);
	}
	fprintf(stderr, "%lu\n", entries);
	return 0;
}
