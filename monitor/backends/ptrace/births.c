/* births.c -- see ptrace.h. */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "draw.h"
#include "ptrace.h"

int birth_is_followed(const struct meter *parent)
{
	return parent->record.generation + 1 < tracer.order->drawn_from ||
	       draw_follows(tracer.order->seed, tracer.born++, tracer.order->children);
}

void birth_begin(struct tracee *tracee)
{
	if (tracee->is_leaving) {
		struct meter *process = tracee->meter.process;

		ptrace(PTRACE_DETACH, tracee->thread, 0, 0);
		tracee_take_out(tracee);
		process->is_unfollowed = 1;
		meter_end(process, UNKNOWN, -1);
		return;
	}
	if (tracee->thread == tracee->meter.process->record.pid)
		meter_begin(tracee->meter.process, boottime_ns(), 1);
	else
		meter_begin_thread(&tracee->meter, boottime_ns(), 1);
	tracee_resume(tracee, 0);
}

/* Gives a new tracee its place, whichever came first: its own stop or that of its parent. */
static void place_newborn(pid_t thread, struct meter *parent, int is_thread)
{
	struct tracee *early = tracee_find(thread), *tracee;
	int            is_early = early != NULL;
	struct meter  *process = parent;
	uint64_t       now = boottime_ns();

	if (is_early)
		tracee_drop_early(early);
	if (!is_thread) {
		parent->record.children++;
		process = meter_add(thread, parent, now);
	}
	tracee = tracee_add(process, thread, now);
	tracee->is_newborn = 1;
	/* The command's children before its exec would be lost: it has none. */
	if (!is_thread && !birth_is_followed(parent)) {
		tracee->is_leaving = 1;
		process->is_unfollowed = 1;
		tracer.unfollowed++;
	}
	if (is_early) {
		tracee->meter.our_switches = 1; /* that stop */
		birth_begin(tracee);
	}
}

/* Without /proc, which may hide it. */
static int is_thread_of(pid_t thread, const struct meter *process)
{
	return !syscall(SYS_tgkill, process->record.pid, thread, 0) || errno == EPERM;
}

static int is_hidden(pid_t thread, const struct meter *process)
{
	return is_thread_of(thread, process) || procfs_hides(thread);
}

void birth_at_stop(struct tracee *tracee)
{
	struct procfs_status status = { 0 };
	unsigned long        born = 0;
	struct tracee       *known;

	if (ptrace(PTRACE_GETEVENTMSG, tracee->thread, 0, &born))
		return;
	known = tracee_find((pid_t)born);
	if (known && known->meter.process)
		return;
	/* Killed before it did anything, it may have gone by now. */
	if (procfs_status_of((pid_t)born, &status) ? !is_hidden((pid_t)born, tracee->meter.process)
	                                           : status.tracer != getpid()) {
		tracee->meter.process->record.children++;
		lost[LOST_EVENTS]++;
		return;
	}
	place_newborn((pid_t)born, tracee->meter.process,
	              is_thread_of((pid_t)born, tracee->meter.process));
}

static void place_orphan(struct tracee *early, void *context)
{
	struct procfs_status status = { 0 };
	struct meter        *process = context;

	if (procfs_status_of(early->thread, &status)) {
		if (!is_hidden(early->thread, process)) {
			tracee_drop_early(early);
			lost[LOST_EVENTS]++;
		} else if (is_thread_of(early->thread, process) || !meters_first->next) {
			place_newborn(early->thread, process, is_thread_of(early->thread, process));
		}
	} else if (status.group == process->record.pid || status.parent == process->record.pid ||
	           !meter_find(status.parent)) {
		place_newborn(early->thread, process, status.group == process->record.pid);
	}
}

void birth_place_orphans(struct meter *process)
{
	tracees_early(place_orphan, process);
}
