/* attach.c -- see ptrace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptrace.h"

enum {
	OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
	          PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD,
};

struct attaching {
	struct meter *process;
	size_t        added;
	int           error; /* of a thread that could not be attached */
};

struct family {
	struct meter *parent;
	pid_t        *passed_over; /* by --children, so that no pass counts them again */
	size_t        passed_count, passed_room;
	size_t        added;
};

int seize(pid_t thread)
{
	return ptrace(PTRACE_SEIZE, thread, 0, OPTIONS) ? -1 : 0;
}

static void attach_thread(pid_t thread, void *context)
{
	struct attaching    *attaching = context;
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	struct tracee       *tracee;
	pid_t                pid = attaching->process->record.pid;
	uint64_t             begin_ns = attaching->process->record.begin_ns;

	if (tracee_find(thread))
		return;
	if (seize(thread)) {
		int error = errno;

		/* One that was born under our eyes is ours already, and one that is ending cannot
		 * be attached. */
		if (!procfs_stat_of(pid, thread, &stat) && stat.state != 'Z' && stat.state != 'X' &&
		    !procfs_status_of(thread, &status) && status.tracer != getpid())
			attaching->error = error;
		return;
	}
	if (!procfs_stat_of(pid, thread, &stat))
		begin_ns = stat.begin_ns;
	tracee = tracee_add(attaching->process, thread, begin_ns);
	attaching->added++;
	if (tracer.counts_calls) {
		tracee->is_attaching = 1;
		ptrace(PTRACE_INTERRUPT, thread, 0, 0);
	}
}

/* As if it had never been attached: each thread must stop to be let go. */
static void release(struct meter *process)
{
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next) {
		struct tracee *tracee = (struct tracee *)thread;
		int            status;

		if (!ptrace(PTRACE_INTERRUPT, tracee->thread, 0, 0) &&
		    waitpid(tracee->thread, &status, __WALL) == tracee->thread &&
		    WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tracee->thread, 0,
			       status >> 16 ? 0 : WSTOPSIG(status));
		tracee_take_out(tracee);
	}
	process->is_unfollowed = 1;
	meter_end(process, UNKNOWN, -1);
}

/* Returns the process, or NULL with errno: ESRCH if it has ended. */
static struct meter *attach(pid_t pid, struct meter *parent)
{
	struct attaching   attaching = { 0 };
	struct procfs_stat stat;

	if (procfs_stat_of(pid, 0, &stat) || procfs_has_ended(&stat)) {
		errno = ESRCH;
		return NULL;
	}
	attaching.process = meter_add(pid, parent, stat.begin_ns);
	attaching.process->record.parent = stat.parent;
	attaching.process->record.attached = 1;
	do {
		attaching.added = 0;
		procfs_threads(pid, attach_thread, &attaching);
	} while (attaching.added && !attaching.error);
	if (attaching.error || !attaching.process->threads) {
		release(attaching.process);
		errno = attaching.error ? attaching.error : ESRCH;
		return NULL;
	}
	meter_begin(attaching.process, boottime_ns(), 0);
	return attaching.process;
}

/* The reader of our records must not be stopped while we write them: our own line is not
 * followed unless it is named. */
static int is_our_line(pid_t pid)
{
	struct procfs_status status = { 0 };

	for (pid_t one = getpid(); one > 1; one = status.parent) {
		if (one == pid)
			return 1;
		if (procfs_status_of(one, &status))
			break;
	}
	return 0;
}

static void attach_child(pid_t pid, void *context)
{
	struct family *family = context;

	if (meter_find(pid) || pid == tracer.order->except || is_our_line(pid))
		return;
	for (size_t i = 0; i < family->passed_count; i++)
		if (family->passed_over[i] == pid)
			return;
	family->parent->record.children++;
	if (birth_is_followed(family->parent)) {
		if (attach(pid, family->parent))
			family->added++;
		else if (errno != ESRCH)
			lost[LOST_EVENTS]++;
	} else {
		tracer.unfollowed++;
	}
	if (meter_find(pid))
		return;
	family->passed_over = list_grow(family->passed_over, family->passed_count,
	                                &family->passed_room, sizeof *family->passed_over);
	family->passed_over[family->passed_count++] = pid;
}

/* All descendants of those that are watched, until a pass finds none that is new. A child that is
 * born meanwhile of one that is watched is attached by the kernel. */
static void attach_families(void)
{
	struct family family = { 0 };

	do {
		family.added = 0;
		for (struct meter *process = meters_first; process; process = process->next) {
			family.parent = process;
			procfs_children(process->record.pid, attach_child, &family);
		}
	} while (family.added);
	for (struct meter *process = meters_first; process; process = process->next)
		process->record.children = 0; /* those that it has from now on */
	free(family.passed_over);
}

static int say_why(pid_t pid, int error, char *why, size_t why_room)
{
	struct procfs_status status = { 0 };

	if (error == ESRCH)
		snprintf(why, why_room, "process %d has ended", (int)pid);
	else if (!procfs_status_of(pid, &status) && status.tracer && status.tracer != getpid())
		snprintf(why, why_room,
		         "process %d cannot be attached: process %d traces it already", (int)pid,
		         (int)status.tracer);
	else
		snprintf(
			why, why_room,
			"process %d cannot be attached: %s (it must belong to the same user, or the monitor to root)",
			(int)pid, strerror(error));
	return -1;
}

int attach_command(pid_t child, char *why, size_t why_room)
{
	struct meter *process;

	if (seize(child))
		return say_why(child, errno, why, why_room);
	process = meter_add(child, NULL, boottime_ns());
	process->record.parent = getpid();
	tracee_add(process, child, process->record.begin_ns);
	return 0;
}

int attach_pids(const struct order *order, char *why, size_t why_room)
{
	for (size_t i = 0; i < order->pid_count; i++) {
		if (tracee_find(order->pids[i]) || order->pids[i] == order->except)
			continue; /* named twice, or not to be watched */
		if (attach(order->pids[i], NULL))
			continue;
		if (errno != ESRCH) {
			say_why(order->pids[i], errno, why, why_room);
			while (meters_first)
				release(meters_first);
			return -1;
		}
		lost[LOST_EVENTS]++; /* it has ended since it was named */
	}
	if (!meters_first)
		return say_why(order->pids[0], ESRCH, why, why_room);
	attach_families();
	return 0;
}
