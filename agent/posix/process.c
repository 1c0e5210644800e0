/* process.c -- processes of POSIX, by fork and exec. See ../system.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "../../base/clock.h"
#include "../clock_facts.h"
#include "../system.h"
#include "../tree.h"

extern char **environ; /* POSIX leaves its declaration to the program */

enum { ENVIRONMENT_MOST = 16 };

void system_begin(const char *argv0)
{
	self_path_set(argv0);
	signal(SIGPIPE, SIG_IGN);
}

const char *system_error(int error)
{
	return strerror(error);
}

/* The descriptors go to their numbers by way of free ones above, so that none is lost to another.
 * Returns the call that failed, or NULL. */
static const char *hand_over(const struct process_order *order)
{
	int free_from = 16, nothing;

	for (size_t i = 0; i < order->file_count; i++)
		if (order->files[i].theirs >= free_from)
			free_from = order->files[i].theirs + 1;
	for (size_t i = 0; i < order->handle_count; i++)
		if (fcntl((int)order->handles[i], F_SETFD, 0))
			return "fcntl";
	/* Standard output is the agent's stream of records: a utility must not write into it. */
	nothing = open("/dev/null", O_RDWR);
	if (nothing < 0)
		return "open /dev/null";
	if (dup2(nothing, 0) < 0 || dup2(0, 1) < 0)
		return "dup2";
	if (nothing > 2)
		close(nothing);
	int high[order->file_count + 1];
	for (size_t i = 0; i < order->file_count; i++)
		if ((high[i] = fcntl(order->files[i].ours, F_DUPFD_CLOEXEC, free_from)) < 0)
			return "fcntl";
	for (size_t i = 0; i < order->file_count; i++)
		if (dup2(high[i], order->files[i].theirs) < 0)
			return "dup2";
	return NULL;
}

/* This program is started under the agent's monitor, if it has one, which is found by PATH; and by
 * its emulator, where the kernel could not start it itself. Returns the call that failed; NULL
 * where it was the monitor's, which its user is told in other words. */
static const char *execute(const char *const arguments[], const char *environment[])
{
	size_t count = 0, under = 0, at;

	while (arguments[count])
		count++;
	const char *words[UNDER_MOST + count + 2];
	if (!strcmp(arguments[0], self_path()))
		under = self_under(words);
	at = under;
	if (self_emulator() && !strcmp(arguments[0], self_path()))
		words[at++] = self_emulator();
	memcpy(words + at, arguments, (count + 1) * sizeof(*words));
	environ = (char **)(uintptr_t)environment;
	if (under) {
		execvp(words[0], (char *const *)(uintptr_t)words);
		return NULL;
	}
	execve(words[0], (char *const *)(uintptr_t)words, environ);
	return "execve";
}

/* In the new process. Returns the call that failed, or NULL as execute() does. */
static const char *become(const struct process_order *order)
{
	const char *environment[ENVIRONMENT_MOST + 3] = { "PATH=/usr/bin:/bin", "LC_ALL=C" },
						   *failed;
	sigset_t    none;

#ifdef __linux__
	if (order->dies_with_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (order->is_group)
		setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* process_wait_any has blocked one */
	if (order->processor && processor_take_thread(order->processor - 1))
		return "sched_setaffinity";
	errno = 0; /* nice() may rightly return -1 */
	if (order->niceness && nice(order->niceness) == -1 && errno)
		return "nice";
	if ((failed = hand_over(order)))
		return failed;
	for (int i = 0; i < ENVIRONMENT_MOST && order->environment && order->environment[i]; i++)
		environment[i + 2] = order->environment[i];
	return execute(order->arguments, environment);
}

int process_start(const struct process_order *order, struct process *process)
{
	const char *failed;
	pid_t       pid;

	*process = (struct process){ 0 };
	errno = 0;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		failed = become(order);
		if (failed && order->complaint)
			dprintf(order->complains_to, "%s%s: %s\n", order->complaint, failed,
			        system_error(errno));
		_exit(PROCESS_NOT_EXECUTED);
	}
	if (order->is_group)
		setpgid(pid, pid); /* both do it: either may come first */
	process->id = pid;
	process->job = order->is_group ? pid : 0;
	return 0;
}

static void tell(int status, struct process_end *end)
{
	memset(end, 0, sizeof(*end));
	end->ended_ns = clock_ns();
	end->was_killed = WIFSIGNALED(status);
	if (end->was_killed)
		end->signal = WTERMSIG(status);
	else
		end->status = WEXITSTATUS(status);
}

int process_wait(struct process *process, struct process_end *end)
{
	int       status;
	pid_t     pid;
	siginfo_t ended;

	/* What it started in its group is killed while its number is still its own: until it is
	 * reaped. */
	if (process->job > 0) {
		while (waitid(P_PID, (id_t)process->id, &ended, WEXITED | WNOWAIT) &&
		       errno == EINTR)
			;
		kill((pid_t)-process->job, SIGKILL);
		process->job = 0;
	}
	do
		pid = waitpid((pid_t)process->id, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -1;
	process->id = 0;
	tell(status, end);
	return 0;
}

/* A child that ends, or the time; its signal is blocked, so that it cannot come between looking and
 * waiting. */
static void await_child(uint64_t patience_ms)
{
	struct timespec time = { .tv_sec = (time_t)(patience_ms / 1000),
		                 .tv_nsec = (long)(patience_ms % 1000 * 1000000) };
	sigset_t        child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &time);
}

static pid_t wait_until(uint64_t deadline_ms, int *status)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	for (;;) {
		pid_t    pid = waitpid(-1, status, WNOHANG);
		uint64_t now = clock_ns() / 1000000;

		if (pid || now >= deadline_ms)
			return pid;
		await_child(deadline_ms - now);
	}
}

ptrdiff_t process_wait_any(struct process processes[], size_t count, int patience_ms,
                           struct process_end *end)
{
	for (;;) {
		int      status;
		uint64_t deadline_ms = clock_ns() / 1000000 +
		                       (uint64_t)(patience_ms < 0 ? 0 : patience_ms);
		pid_t    pid = patience_ms < 0 ? waitpid(-1, &status, 0)
		                               : wait_until(deadline_ms, &status);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid == 0 || (pid < 0 && errno == ECHILD))
			return -2;
		if (pid < 0)
			return -1;
		for (size_t i = 0; i < count; i++)
			if (processes[i].id == pid) {
				processes[i].id = 0;
				tell(status, end);
				return (ptrdiff_t)i;
			}
	}
}

void process_kill(struct process *process)
{
	if (process->job > 0)
		kill((pid_t)-process->job, SIGKILL);
	else if (process->id > 0)
		kill((pid_t)process->id, SIGKILL);
}

void process_forget(struct process *process)
{
	*process = (struct process){ 0 };
}

void processes_reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}
