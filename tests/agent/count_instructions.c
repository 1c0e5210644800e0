/* count_instructions.c -- counts, from outside, the machine instructions of a load program's trial.
 *
 *	count_instructions MOST PHASES PROGRAM ARGUMENT ...
 *
 * Every process whose first argument is "trial-process" is stepped, one instruction at a time, from
 * when it waits at the gate until it has asked for its use of resources the second time after the
 * last of its PHASES (so the making of records, which is long and differs with the numbers, is left
 * out), or until it says something; or until it has done MOST. Where `operations` is set, that is
 * one batch of each phase, and teardown. Everything else runs freely, its own children and threads
 * among them. The count goes to standard error. Each repetition of a string instruction counts,
 * because the processor stops after each.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/channel.h"

/* The harness asks for faults before and after each phase, and for usage, of two kinds, between
 * phases. */
enum {
	TRIALS_MOST = 64,
	AT_GATE = 1,
	SAYING,
	ASKING,
	ASKED_PER_PHASE = 4,
	NOT_ASKED_AT_THE_END = 2
};

static struct trial {
	pid_t pid;
	int   stepped;
	long  asked; /* for its use, while stepped */
} trials[TRIALS_MOST];

static struct trial *trial_of(pid_t pid)
{
	for (int i = 0; i < TRIALS_MOST; i++)
		if (trials[i].pid == pid)
			return &trials[i];
	return NULL;
}

/* Looks at the command line of a process that has just called exec. */
static void note_trial(pid_t pid)
{
	char    path[64], line[4096] = { 0 };
	ssize_t got;
	int     file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file = open(path, O_RDONLY);
	got = read(file, line, sizeof(line) - 1);
	close(file);
	if (got > 0 && !strcmp(line + strlen(line) + 1, "trial-process") && trial_of(0))
		*trial_of(0) = (struct trial){ .pid = pid };
}

/* In the process that becomes the program: it, and all that it makes, stop for the tracer where
 * they read from the gate's number, write to the one that leads up, or call getrusage. */
static void stop_at_channels(void)
{
#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define ANSWER(kind)           BPF_STMT(BPF_RET | BPF_K, kind)
	struct sock_filter steps[] = {
		FIELD(nr),
		UNLESS(SYS_read, 3),
		FIELD(args[0]),
		UNLESS(CHANNEL_GATE, 7),
		ANSWER(SECCOMP_RET_TRACE | AT_GATE),
		UNLESS(SYS_write, 3),
		FIELD(args[0]),
		UNLESS(CHANNEL_UP, 3),
		ANSWER(SECCOMP_RET_TRACE | SAYING),
		UNLESS(SYS_getrusage, 1),
		ANSWER(SECCOMP_RET_TRACE | ASKING),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(*steps), steps };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(126);
}

static void start(char *argv[])
{
	int   status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		stop_at_channels();
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
	               PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, pid, 0, 0);
}

/* What `trial`, which has come to `where`, does from now on. */
static void pass_mark(struct trial *trial, unsigned long where, long phases)
{
	if (where == AT_GATE)
		trial->stepped = 1;
	else if (where == SAYING ||
	         ++trial->asked == ASKED_PER_PHASE * phases - NOT_ASKED_AT_THE_END)
		trial->stepped = 0;
}

int main(int argc, char *argv[])
{
	unsigned long instructions = 0, most, where;
	int           status;
	pid_t         pid;

	if (argc < 4)
		return 2;
	most = strtoul(argv[1], NULL, 10);
	start(argv + 3);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct trial *trial = trial_of(pid);
		int           pass = 0;

		if (!WIFSTOPPED(status))
			continue;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			note_trial(pid);
		} else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
			ptrace(PTRACE_GETEVENTMSG, pid, 0, &where);
			if (trial && (trial->stepped || where == AT_GATE))
				pass_mark(trial, where, atol(argv[2]));
		} else if (status >> 8 == SIGTRAP) {
			instructions++;
		} else if (WSTOPSIG(status) != SIGSTOP && !(status >> 16)) {
			pass = WSTOPSIG(status);
		}
		ptrace(trial && trial->stepped && instructions < most ? PTRACE_SINGLESTEP
		                                                      : PTRACE_CONT,
		       pid, 0, pass);
	}
	fprintf(stderr, "%lu\n", instructions);
	return 0;
}
