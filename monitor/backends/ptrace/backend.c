/* backend.c -- the monitor by ptrace: without any privilege, every process of the same user, and
 * every call exactly.
 *
 * Costs        at `life` a few stops per process: where it is made, where its program begins, where
 *              it ends, and for each signal. At `calls` and `latency` two stops per call: of the
 *              order of strace, hundreds of times the price of a cheap call.
 * Loses        nothing, unless a process is killed before its first instruction (lost_events).
 * Beware       a traced process is not quite what it is untraced. Signals that it ignores wake it
 *              for a moment; each stop is a voluntary switch (taken off again here); one that runs
 *              a set-user-id program gains no privilege, unless we have it.
 *
 * A seccomp filter with SECCOMP_RET_TRACE would halve the stops, and is not used: a filter cannot
 * be taken off, and once the tracer has gone each call fails with ENOSYS; it also needs
 * no_new_privs, which would change what programs may do. Nothing here outlives us: a tracee whose
 * tracer ends, however it ends, goes on as if there had been none, and a stopped one stays stopped.
 * That is how this watch ends, too: to detach, a tracee would have to be interrupted first, and
 * some calls (epoll_wait, msgrcv, ...: signal(7)) then fail with EINTR.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptrace.h"

/* -- Whether it works here -- */

/* Whether a process may be traced at all: a child of our own is, by the most cautious rules but
 * one. */
static int try_seizing(char *why, size_t why_room)
{
	struct __ptrace_syscall_info info;
	int                          gate[2], error = 0, status;
	pid_t                        child;
	char                         nothing;

	if (pipe(gate)) {
		snprintf(why, why_room, "no process to try ptrace on: pipe: %s", strerror(errno));
		return -1;
	}
	child = fork();
	if (child < 0) {
		snprintf(why, why_room, "no process to try ptrace on: fork: %s", strerror(errno));
		close(gate[0]);
		close(gate[1]);
		return -1;
	}
	if (child == 0) {
		close(gate[1]);
		_exit(read(gate[0], &nothing, 1) != 0);
	}
	if (seize(child) || ptrace(PTRACE_INTERRUPT, child, 0, 0) ||
	    waitpid(child, &status, __WALL) != child ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0)
		error = errno;
	close(gate[0]);
	close(gate[1]);
	if (kill(child, SIGKILL)) { /* refused: then it ends because its pipe does */
		if (!error)
			error = errno;
		ptrace(PTRACE_DETACH, child, 0, 0);
	}
	while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, child, 0, 0);
	if (!error)
		return 0;
	snprintf(
		why, why_room,
		"ptrace, or what it takes, is not allowed here, or the kernel is older than 5.3: %s",
		strerror(error));
	return -1;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
	const char *reason = NULL;

	if (order->detail == BUDGET)
		reason =
			"a stop at each call slows calls so much that the rate within a window does not represent the time "
			"outside it: no window keeps a budget; detail life costs nothing per call, calls counts them all";
	else if (order->detail == PROFILE)
		reason = "ptrace stops at each call, and cannot sample";
	else if (order->cgroup)
		reason = "ptrace follows processes, and does not see processes that enter a cgroup";
	else if (order->prove)
		reason = "there is no hook to remove for a comparison";
	if (!reason)
		return try_seizing(why, why_room);
	snprintf(why, why_room, "%s", reason);
	return -1;
}

static const char *const *missing(const struct order *order)
{
	static const char *said[12];
	size_t             count = 0;

	said[count++] =
		"the watched processes are traced: they stop for a moment when one is made, executes a program, "
		"gets a signal or ends, and no other tracer (strace, gdb) can attach meanwhile";
	said[count++] = "blocked_ns holds the time of these stops as well";
	said[count++] = "a child made with CLONE_UNTRACED is not seen";
	if (geteuid())
		said[count++] =
			"a set-user-ID program gains no privileges while an ordinary user traces it";
	if (order->detail == LIFE)
		said[count++] = "calls are not counted at detail life";
	else
		said[count++] =
			"every call stops its process twice: times, and everything that depends on them, are far from what "
			"they would be unwatched";
	if (order->detail == LATENCY)
		said[count++] = "time inside a call includes its two stops";
	if (order->pid_count && order->detail != LIFE)
		said[count++] =
			"a thread that was asleep in a call when it was attached was woken once: some calls, as "
			"epoll_wait, then fail with EINTR";
	if (order->children > 1)
		said[count++] = "what the children cost that --children leaves out is not known";
	said[count] = NULL;
	return said;
}

/* -- The watch -- */

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	int wrong;

	tracer.order = order;
	tracer.counts_calls = order->detail == CALLS || order->detail == LATENCY;
	meters_open(order, sizeof(struct meter), sizeof(struct tracee));
	wrong = child ? attach_command(child, why, why_room) : attach_pids(order, why, why_room);
	outside.backend_reaps = !wrong; /* tracees are told of as children are */
	return wrong;
}

static enum woken wait_until(uint64_t until_ns)
{
	for (;;) {
		int is_busy;

		/* First of all the signals, so that one that comes later wakes the wait. */
		outside_check();
		is_busy = stops_take();
		if (outside.stop || outside.command_ended)
			return WOKEN_BY_SIGNAL;
		if (!tracer.tracees)
			return WOKEN_BY_END;
		if (boottime_ns() >= until_ns)
			return WOKEN_BY_TIME;
		if (wait_quietly(is_busy ? 0 : until_ns, -1) == WOKEN_BY_CONTROL)
			return WOKEN_BY_CONTROL;
	}
}

static void read_all(uint64_t now)
{
	for (struct meter *process = meters_first; process; process = process->next)
		if (process->has_begun && !meter_read(process, now))
			meter_write_reading(process, now);
}

static void end(struct account *account)
{
	uint64_t now;

	/* What has stopped by now is let go; what runs, the kernel lets go at our end. */
	stops_take();
	now = boottime_ns();
	while (meters_first) {
		if (meters_first->has_begun)
			meter_read(meters_first, now);
		for (struct thread_meter *thread = meters_first->threads; thread;
		     thread = thread->next)
			tracee_take_out((struct tracee *)thread);
		meter_end(meters_first, UNKNOWN, -1);
	}
	meters_total(&account->total);
	account->hits = tracer.hits;
	account->maps_bytes = 0;
	account->lost_slots = 0;
	account->lost_calls = 0;
	account->unfollowed = tracer.unfollowed;
}

const struct backend ptrace_backend = {
	.name = "ptrace",
	.probe = probe,
	.missing = missing,
	.begin = begin,
	.wait = wait_until,
	.read = read_all,
	.total = meters_total,
	.end = end,
};
