/* outside.c -- see monitor.h: signals, our child, the control descriptor, and waiting for them. */
#include "monitor.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "outside.h"

struct outside  outside = { .signal_file = -1, .control_file = -1 };
static sigset_t before;
static int      child_changed;

int outside_open(void)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	/* What the caller had ignored, as nohup does with SIGHUP, is ignored by the kernel before
	 * it is blocked. */
	if (sigprocmask(SIG_BLOCK, &ours, &before))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	outside.signal_file = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	return outside.signal_file < 0 ? -1 : 0;
}

void outside_restore_for_child(void)
{
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A SIGINT is for the command, which has it from the terminal as we do, and may know what to do
 * with it: so with a command, the watch ends when that does. A request to terminate is ours alone:
 * it is passed on, and a second one obeyed. */
static void take(const struct signalfd_siginfo *taken)
{
	static int requests;

	if (taken->ssi_signo == SIGCHLD) {
		child_changed = 1;
		return;
	}
	if (!outside.command || outside.command_ended) {
		outside.stop = 1;
		return;
	}
	if (taken->ssi_signo == SIGINT)
		return;
	if (requests++)
		outside.stop = 1;
	else if (kill(outside.command, (int)taken->ssi_signo) && errno != ESRCH)
		outside.stop = 1; /* a sandbox refuses it: nothing else would come of the request */
}

int outside_check(void)
{
	struct signalfd_siginfo taken;
	int                     changed;

	child_changed = 0;
	while (read(outside.signal_file, &taken, sizeof taken) == (ssize_t)sizeof taken)
		take(&taken);
	changed = outside.backend_reaps && child_changed;
	if (outside.command && !outside.command_ended && !outside.backend_reaps)
		command_look();
	if (outside.command && !outside.command_ended && !outside.backend_reaps &&
	    waitpid(outside.command, &outside.command_status, WNOHANG) == outside.command) {
		outside.command_ended = 1;
		changed = 1;
	}
	return changed || outside.stop;
}

void allow_many_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

enum woken wait_quietly(uint64_t until_ns, int file)
{
	for (;;) {
		struct pollfd files[3] = {
			{ .fd = outside.signal_file, .events = POLLIN },
			{ .fd = outside.control_file, .events = POLLIN },
			{ .fd = file, .events = POLLIN },
		};
		uint64_t        now = boottime_ns();
		uint64_t        left = until_ns > now ? until_ns - now : 0;
		struct timespec patience = {
			.tv_sec = (time_t)(left / 1000000000),
			.tv_nsec = (long)(left % 1000000000),
		};
		int ready = ppoll(files, 3, until_ns == UNKNOWN ? NULL : &patience, NULL);

		if (ready < 0 && errno != EINTR)
			return WOKEN_BY_SIGNAL;
		if (ready == 0)
			return WOKEN_BY_TIME;
		if (files[0].revents && outside_check())
			return WOKEN_BY_SIGNAL;
		if (files[1].revents)
			return WOKEN_BY_CONTROL;
		if (files[2].revents)
			return WOKEN_BY_TIME;
	}
}
