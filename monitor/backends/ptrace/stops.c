/* stops.c -- see ptrace.h. */
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "command.h"
#include "ptrace.h"

enum { SYSCALL_STOP = SIGTRAP | 0x80 };

struct stop {
	pid_t thread;
	int   status;
};

static struct {
	struct stop *list;
	size_t       count, room;
} s;

/* -- Programs and ends -- */

/* A thread that executes a program becomes the first thread of its process; all others have gone,
 * the first one without a word. */
static struct tracee *take_over(struct tracee *first, pid_t former)
{
	struct tracee *tracee = tracee_find(former);

	if (!tracee || tracee == first)
		return first;
	if (first) {
		tracee_take_out(first);
		meter_end_thread(&first->meter, boottime_ns(), 0);
	}
	tracee->meter.thread = tracee->meter.record.thread = tracee->meter.process->record.pid;
	tracee_renumber(tracee, tracee->meter.thread);
	return tracee;
}

static void stopped_at_exec(struct tracee *tracee)
{
	struct meter *process;
	unsigned long former = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, tracee->thread, 0, &former))
		tracee = take_over(tracee, (pid_t)former);
	process = tracee->meter.process;
	if (process->has_begun) {
		meter_exec(process);
	} else {
		meter_begin(process, boottime_ns(), 0);
		process->record.attached = 0;
		tracee->meter.record.attached = 0;
	}
	/* Its call will return. The command's was not seen to begin: that was before we counted. */
	if (tracee_is_counting(tracee) && !tracee->in_call) {
		tracee->in_call = 1;
		tracee->abi = ABI_NATIVE;
		tracee->number = SYS_execve;
	}
	tracee_resume(tracee, 0);
}

static void stopped_at_end(struct tracee *tracee)
{
	/* The last sight of its memory. Its times are read again when it is a zombie, unless
	 * another thread's exec takes it away before. */
	meter_read_thread(&tracee->meter);
	tracee->is_ending = 1;
	if (tracee_is_counting(tracee))
		count_last(tracee);
	birth_place_orphans(tracee->meter.process);
	tracee_resume(tracee, 0);
}

/* Only root may read a zombie's, and at its stop it was final. */
static void keep_io_of_the_stop(struct tracee *tracee, int had_old_io)
{
	if (tracee->is_ending)
		tracee->meter.has_old_io = had_old_io;
}

/* A zombie, not reaped yet: all figures are final. */
static void take_end(const siginfo_t *info)
{
	struct tracee *tracee = tracee_find(info->si_pid);
	struct meter  *process;
	uint64_t       now = boottime_ns();
	int            status = info->si_status << 8, had_old_io;

	if (!tracee)
		return;
	process = tracee->meter.process;
	if (!process) {
		tracee_drop_early(tracee);
		lost[LOST_EVENTS]++;
		return;
	}
	if (info->si_code != CLD_EXITED)
		status = info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
	birth_place_orphans(process);
	tracee_take_out(tracee);
	/* Killed without a stop, it may have had more since it was read. */
	if (!tracee->is_ending)
		process_cut_short(&process->record, LEVELS);
	had_old_io = tracee->meter.has_old_io;
	if (tracee->thread != process->record.pid) {
		meter_read_thread(&tracee->meter);
		keep_io_of_the_stop(tracee, had_old_io);
		meter_end_thread(&tracee->meter, now, status);
		return;
	}
	/* Death by SIGKILL is a signal that shows in no stop. */
	if (info->si_code != CLD_EXITED && info->si_status == SIGKILL)
		tracee->meter.record.figure[signals]++;
	if (meter_read(process, now))
		meter_hide(process);
	keep_io_of_the_stop(tracee, had_old_io);
	if (info->si_pid == outside.command) {
		process->record.end_ns = now;
		command_look();
		command_complete(&process->record);
	}
	meter_end(process, now, status);
}

/* -- Signals -- */

/* Ptrace shows a signal that the process ignores, as it would come without: but that one is
 * not delivered. */
static int is_ignored(pid_t thread, int signal)
{
	struct procfs_status status = { 0 };
	uint64_t             bit = UINT64_C(1) << (signal - 1);
	int by_default = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
	                 signal == SIGWINCH;

	if (procfs_status_of(thread, &status))
		return 0;
	return (status.ignored & bit) || (by_default && !(status.caught & bit));
}

static void stopped_at_signal(struct tracee *tracee, int signal)
{
	uint64_t *count = &tracee->meter.record.figure[signals];

	if (!is_ignored(tracee->thread, signal))
		(*count)++;
	else if (tracee->is_restarting)
		uncount(tracee);
	tracee->is_restarting = 0;
	tracee_resume(tracee, signal);
}

/* -- Stops -- */

static void stopped(const struct stop *stop)
{
	struct tracee *tracee = tracee_find(stop->thread);
	int            event = stop->status >> 16, signal = WSTOPSIG(stop->status);

	if (!tracee && event == PTRACE_EVENT_STOP)
		tracee_add_early(stop->thread);
	else if (!tracee)
		ptrace(PTRACE_DETACH, stop->thread, 0, event ? 0 : signal);
	if (!tracee || !tracee->meter.process)
		return;
	tracee->meter.our_switches++;
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		birth_at_stop(tracee);
		tracee_resume(tracee, 0);
		break;
	case PTRACE_EVENT_EXEC:
		stopped_at_exec(tracee);
		break;
	case PTRACE_EVENT_EXIT:
		stopped_at_end(tracee);
		break;
	case PTRACE_EVENT_STOP:
		if (tracee->is_newborn && !tracee->meter.record.watched_ns) {
			birth_begin(tracee);
		} else if (signal != SIGTRAP) {
			/* Stopped by job control: it stays so, until a SIGCONT brings it here
			 * again. */
			ptrace(PTRACE_LISTEN, tracee->thread, 0, 0);
		} else {
			if (tracee->is_attaching && tracee_is_counting(tracee))
				count_interrupted(tracee);
			tracee->is_attaching = 0;
			tracee_resume(tracee, 0);
		}
		break;
	default:
		if (signal == SYSCALL_STOP) {
			count_at_stop(tracee);
			tracee_resume(tracee, 0);
		} else {
			stopped_at_signal(tracee, signal);
		}
	}
}

static void keep_stop(pid_t thread, int status)
{
	s.list = list_grow(s.list, s.count, &s.room, sizeof *s.list);
	s.list[s.count++] = (struct stop){ thread, status };
}

/* Takes all that have stopped, and only then handles and resumes them: so none is left waiting
 * because another stops again and again. */
int stops_take(void)
{
	int ends = 0;

	s.count = 0;
	for (;;) {
		siginfo_t info = { 0 };
		int       status;

		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    !info.si_pid)
			break;
		if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		    info.si_code == CLD_DUMPED) {
			take_end(&info);
			ends++;
		}
		if (waitpid(info.si_pid, &status, WNOHANG | __WALL) != info.si_pid)
			continue;
		if (WIFSTOPPED(status)) {
			keep_stop(info.si_pid, status);
		} else if (info.si_pid == outside.command) {
			outside.command_status = status;
			outside.command_ended = 1;
		}
	}
	for (size_t i = 0; i < s.count; i++)
		stopped(&s.list[i]);
	return s.count || ends;
}
