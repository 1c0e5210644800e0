/* ptrace.c -- the monitor by ptrace: without any privilege, every process of the same user, and every call exactly.
 *
 * Costs        at `life` a few stops per process: where it is made, where its program begins, where it ends, and
 *              for each signal. At `calls` and `latency` two stops per call: of the order of strace, hundreds of
 *              times the price of a cheap call.
 * Loses        nothing, unless a process is killed before its first instruction (lost_events).
 * Beware       a traced process is not quite what it is untraced. Signals that it ignores wake it for a moment; each
 *              stop is a voluntary switch (taken off again here); one that runs a set-user-id program gains no
 *              privilege, unless we have it.
 *
 * A seccomp filter with SECCOMP_RET_TRACE would halve the stops, and is not used: a filter cannot be taken off,
 * and once the tracer has gone each call fails with ENOSYS; it also needs no_new_privs, which would change what
 * programs may do. Nothing here outlives us: a tracee whose tracer ends, however it ends, goes on as if there
 * had been none, and a stopped one stays stopped. That is how this watch ends, too: to detach, a tracee would have
 * to be interrupted first, and some calls (epoll_wait, msgrcv, ...: signal(7)) then fail with EINTR.
 */
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "kernel/procfs.h"
#include "follow/meters.h"

enum {
	OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	          PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD,
	SYSCALL_STOP = SIGTRAP | 0x80,
	BUCKETS = 4096,
	X32_BIT = 0x40000000,
};

struct tracee {
	struct thread_meter seen;   /* without a process: its parent's stop has not told of it yet */
	struct tracee     *chain;
	pid_t              thread;
	int                is_attaching; /* it was interrupted, to begin counting */
	int                is_leaving;  /* a child that --children leaves out */
	int                is_newborn;  /* has not returned from the call that made it */
	int                in_call;
	enum abi           abi;
	uint32_t           number;
	uint64_t           entered_ns;
	/* How the last call ended, which may have been our doing. */
	int                is_restarting; /* it returned only to be made again */
	int                is_continued;  /* it goes on: what comes next is the same call */
	uint64_t           took_ns;
};

struct stop {
	pid_t thread;
	int   status;
};

static struct {
	const struct order *order;
	int                 counts_calls;
	struct tracee      *table[BUCKETS];
	size_t              tracees, early; /* `early`: of those, without a process */
	struct stop        *stops;
	size_t              stop_count, stop_room;
	uint64_t            lost_events, unfollowed, hits;
} s;

/* -- Tracees -- */

static struct tracee **place_of(pid_t thread)
{
	struct tracee **link = &s.table[(unsigned)thread % BUCKETS];

	while (*link && (*link)->thread != thread)
		link = &(*link)->chain;
	return link;
}

static struct tracee *find(pid_t thread)
{
	return *place_of(thread);
}

static void enter(struct tracee *tracee, pid_t thread)
{
	struct tracee **link = place_of(thread);

	tracee->thread = thread;
	tracee->chain = *link;
	*link = tracee;
	s.tracees++;
}

static void take_out(struct tracee *tracee)
{
	*place_of(tracee->thread) = tracee->chain;
	tracee->chain = NULL;
	s.tracees--;
}

static struct tracee *add_tracee(struct meter *process, pid_t thread, uint64_t begin_ns)
{
	struct tracee *tracee = (struct tracee *)meter_add_thread(process, thread, begin_ns, sizeof *tracee);

	tracee->seen.record.figure[signals] = 0;
	tracee->seen.record.calls_known = s.counts_calls;
	process->record.calls_known = s.counts_calls;
	enter(tracee, thread);
	return tracee;
}

static int is_counting(const struct tracee *tracee)
{
	return s.counts_calls && tracee->seen.process->has_begun;
}

static void resume(struct tracee *tracee, int signal)
{
	/* One that was killed meanwhile cannot be resumed, and need not be: its end will be told. */
	ptrace(is_counting(tracee) ? PTRACE_SYSCALL : PTRACE_CONT, tracee->thread, 0, signal);
}

static int read_status(pid_t thread, struct procfs_status *status)
{
	int directory = procfs_open(thread, 0);
	int wrong = directory < 0 || procfs_status(directory, status, NULL);

	if (directory >= 0)
		close(directory);
	return wrong ? -1 : 0;
}

/* -- System calls -- */

static enum abi abi_of(uint32_t architecture, uint64_t *number)
{
	if (sizeof(long) == 8 && !(architecture & __AUDIT_ARCH_64BIT))
		return ABI_32;
#ifdef __x86_64__
	if (*number != UINT64_MAX && *number & X32_BIT) {
		*number &= ~(uint64_t)X32_BIT;
		return ABI_X32;
	}
#else
	(void)number;
#endif
	return ABI_NATIVE;
}

/* The call that a stopped tracee is in, or has just returned from, and its result. Returns -1 if it is in none, or
 * this processor's registers are not known here. */
static int read_registers(pid_t thread, uint64_t *number, int64_t *result)
{
#if defined __x86_64__
	enum { EAX = 6, ORIG_EAX = 11 };
	union {
		struct user_regs_struct wide;
		int32_t                 narrow[17]; /* a 32-bit tracee's */
	} registers;
	struct iovec room = { &registers, sizeof registers };

	if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room))
		return -1;
	if (room.iov_len == sizeof registers.narrow) {
		*number = (uint64_t)(int64_t)registers.narrow[ORIG_EAX];
		*result = registers.narrow[EAX];
	} else {
		*number = registers.wide.orig_rax;
		*result = (int64_t)registers.wide.rax;
	}
	return *number == UINT64_MAX ? -1 : 0;
#elif defined __aarch64__
	struct user_regs_struct registers;
	int                     call = -1;
	struct iovec            room = { &registers, sizeof registers }, call_room = { &call, sizeof call };

	if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room) ||
	    ptrace(PTRACE_GETREGSET, thread, NT_ARM_SYSTEM_CALL, &call_room) || call < 0)
		return -1;
	*number = (uint64_t)call;
	*result = (int64_t)registers.regs[0];
	return 0;
#else
	(void)thread, (void)number, (void)result;
	return -1;
#endif
}

static int bucket_of(uint64_t ns)
{
	int bucket = ns < 128 ? 0 : 57 - __builtin_clzll(ns);

	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static void count_in(struct process *record, const struct tracee *tracee, int is_error, uint64_t took_ns)
{
	struct call_type *call = process_call(record, tracee->abi, tracee->number);

	call->calls++;
	call->errors += (uint64_t)is_error;
	if (took_ns == UNKNOWN)
		return;
	if (!call->histogram && !(call->histogram = calloc(HISTOGRAM_BUCKETS, sizeof *call->histogram)))
		abort();
	call->time_ns = call->time_ns == UNKNOWN ? took_ns : call->time_ns + took_ns;
	call->histogram[bucket_of(took_ns)]++;
}

static void uncount_in(struct process *record, const struct tracee *tracee)
{
	struct call_type *call = process_call(record, tracee->abi, tracee->number);

	call->calls--;
	call->errors--;
	if (tracee->took_ns == UNKNOWN)
		return;
	call->time_ns -= tracee->took_ns;
	call->histogram[bucket_of(tracee->took_ns)]--;
}

/* Results that only the kernel and its tracers see: ERESTARTSYS to ERESTART_RESTARTBLOCK. */
static int is_restart(int64_t result)
{
	return result <= -512 && result >= -516;
}

/* The call that the tracee is in has ended. */
static void count(struct tracee *tracee, int64_t result)
{
	int      is_error = result < 0 && result >= -4095;
	uint64_t took_ns = UNKNOWN;

	if (s.order->detail == LATENCY && tracee->entered_ns)
		took_ns = now_ns() - tracee->entered_ns;
	tracee->in_call = 0;
	tracee->entered_ns = 0;
	tracee->is_restarting = is_restart(result);
	tracee->took_ns = took_ns;
	count_in(&tracee->seen.process->record, tracee, is_error, took_ns);
	if (s.order->threads)
		count_in(&tracee->seen.record, tracee, is_error, took_ns);
}

/* A signal that without us would not have come to it made it return: it has not, as far as the program goes. */
static void uncount(struct tracee *tracee)
{
	tracee->is_restarting = 0;
	tracee->is_continued = 1;
	uncount_in(&tracee->seen.process->record, tracee);
	if (s.order->threads)
		uncount_in(&tracee->seen.record, tracee);
}

static void set_call(struct tracee *tracee, uint32_t architecture, uint64_t number)
{
	tracee->in_call = 1;
	tracee->abi = abi_of(architecture, &number);
	tracee->number = number < OTHER_CALLS ? (uint32_t)number : OTHER_CALLS;
}

static int is_named(const struct tracee *tracee, const char *name)
{
	const char *known = call_name(tracee->abi, tracee->number);

	return known && !strcmp(known, name);
}

static uint32_t architecture_of(pid_t thread)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 ? info.arch : __AUDIT_ARCH_64BIT;
}

static void stopped_at_call(struct tracee *tracee)
{
	struct __ptrace_syscall_info info;
	uint64_t                     number;
	int64_t                      result;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->thread, sizeof info, &info) <= 0)
		return;
	s.hits++;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		enum abi abi = tracee->abi;
		uint32_t before = tracee->number;

		set_call(tracee, info.arch, info.entry.nr);
		if (tracee->is_continued && tracee->abi == abi && is_named(tracee, "restart_syscall"))
			tracee->number = before;
		tracee->is_continued = 0;
		tracee->is_restarting = 0;
		tracee->entered_ns = s.order->detail == LATENCY ? now_ns() : 0;
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		/* A new process's first return is from a call that its parent made. */
		if (!tracee->in_call && !tracee->is_newborn &&
		    !read_registers(tracee->thread, &number, &result))
			set_call(tracee, info.arch, number);
		if (tracee->in_call)
			count(tracee, info.exit.rval);
	}
	tracee->is_newborn = 0;
}

/* An interrupted tracee: if it was in a call that has returned by that, this is where it is counted; one that will
 * be restarted is when it returns. */
static void count_interrupted(struct tracee *tracee)
{
	uint64_t number;
	int64_t  result;

	if (read_registers(tracee->thread, &number, &result))
		return;
	set_call(tracee, architecture_of(tracee->thread), number);
	if (!is_restart(result)) {
		count(tracee, result);
		return;
	}
	tracee->in_call = 0;
	tracee->is_continued = 1;
}

/* Of a thread that ends: exit and exit_group do not return. One that was killed in a call has left it, and its
 * result is there; but one that was killed where we had it stopped, before the call, has not made it. */
static void count_last(struct tracee *tracee)
{
	uint64_t number;
	int64_t  result = 0;

	if (!tracee->in_call && !tracee->is_attaching)
		return;
	if (read_registers(tracee->thread, &number, &result) && !tracee->in_call)
		return;
	if (!tracee->in_call)
		set_call(tracee, architecture_of(tracee->thread), number);
	tracee->entered_ns = 0; /* it does not return */
	if (is_named(tracee, "exit") || is_named(tracee, "exit_group"))
		count(tracee, 0);
	else if (result != -ENOSYS)
		count(tracee, result);
}

/* -- Births -- */

/* Whether the next child of that process is followed: the first, and then each so many. */
static int is_chosen(struct meter *process)
{
	return (process->record.children - 1) % s.order->children == 0;
}

/* A tracee's first stop: it has done nothing yet. */
static void begin_newborn(struct tracee *tracee)
{
	if (tracee->is_leaving) {
		struct meter *process = tracee->seen.process;

		ptrace(PTRACE_DETACH, tracee->thread, 0, 0);
		take_out(tracee);
		process->is_unfollowed = 1;
		meter_end(process, UNKNOWN, -1);
		return;
	}
	if (tracee->thread == tracee->seen.process->record.pid)
		meter_begin(tracee->seen.process, now_ns(), 1);
	else
		meter_begin_thread(&tracee->seen, now_ns(), 1);
	resume(tracee, 0);
}

/* Gives a new tracee its place, whichever came first: its own stop or that of its parent. */
static void place_newborn(pid_t thread, struct meter *parent, int is_thread)
{
	struct tracee *early = find(thread), *tracee;
	struct meter   *process = parent;
	uint64_t       now = now_ns();

	if (early) {
		take_out(early);
		s.early--;
		free(early);
	}
	if (!is_thread) {
		parent->record.children++;
		process = meter_add(thread, parent, now);
	}
	tracee = add_tracee(process, thread, now);
	tracee->is_newborn = 1;
	/* The command's children before its exec would be nobody's: it has none. */
	if (!is_thread && !is_chosen(parent)) {
		tracee->is_leaving = 1;
		process->is_unfollowed = 1;
		s.unfollowed++;
	}
	if (early) {
		tracee->seen.our_switches = 1; /* that stop */
		begin_newborn(tracee);
	}
}

static void stopped_at_birth(struct tracee *tracee)
{
	struct procfs_status status = { 0 };
	unsigned long        born = 0;
	struct tracee       *known;

	if (ptrace(PTRACE_GETEVENTMSG, tracee->thread, 0, &born))
		return;
	known = find((pid_t)born);
	if (known && known->seen.process)
		return;
	/* Killed before it did anything, it may have gone by now. */
	if (read_status((pid_t)born, &status) || status.tracer != getpid()) {
		tracee->seen.process->record.children++;
		s.lost_events++;
		return;
	}
	place_newborn((pid_t)born, tracee->seen.process, status.group == tracee->seen.process->record.pid);
}

/* It stopped before its parent told of it. If the parent was killed in between, it never will: then what /proc says
 * must do. */
static void keep_early(pid_t thread)
{
	struct tracee *tracee = calloc(1, sizeof *tracee);

	if (!tracee)
		abort();
	enter(tracee, thread);
	s.early++;
}

/* `process` is about to end, or has: no stop will tell of a child that is not known yet. */
static void place_orphans(struct meter *process)
{
	for (size_t i = 0; s.early && i < BUCKETS; i++)
		for (struct tracee *tracee = s.table[i], *next; tracee; tracee = next) {
			struct procfs_status status = { 0 };

			next = tracee->chain;
			if (tracee->seen.process)
				continue;
			if (read_status(tracee->thread, &status)) {
				take_out(tracee);
				s.early--;
				free(tracee);
				s.lost_events++;
			} else if (status.group == process->record.pid || status.parent == process->record.pid ||
			           !meter_find(status.parent)) {
				place_newborn(tracee->thread, process, status.group == process->record.pid);
			}
		}
}

/* -- Programs and ends -- */

/* A thread that executes a program becomes the first thread of its process; all others have gone, the first one
 * without a word. */
static struct tracee *take_over(struct tracee *first, pid_t former)
{
	struct tracee *tracee = find(former);

	if (!tracee || tracee == first)
		return first;
	if (first) {
		take_out(first);
		meter_end_thread(&first->seen, now_ns(), 0);
	}
	take_out(tracee);
	tracee->seen.thread = tracee->seen.process->record.pid;
	tracee->seen.record.thread = tracee->seen.thread;
	enter(tracee, tracee->seen.thread);
	return tracee;
}

static void stopped_at_exec(struct tracee *tracee)
{
	struct meter  *process;
	unsigned long former = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, tracee->thread, 0, &former))
		tracee = take_over(tracee, (pid_t)former);
	process = tracee->seen.process;
	if (process->has_begun) {
		meter_exec(process);
	} else {
		meter_begin(process, now_ns(), 0);
		process->record.attached = 0;
		tracee->seen.record.attached = 0;
	}
	/* Its call will return. The command's was not seen to begin: that was before we counted. */
	if (is_counting(tracee) && !tracee->in_call) {
		tracee->in_call = 1;
		tracee->abi = ABI_NATIVE;
		tracee->number = SYS_execve;
	}
	resume(tracee, 0);
}

static void stopped_at_end(struct tracee *tracee)
{
	/* The last sight of its memory. Its times are read again when it is a zombie, unless another thread's exec
	 * takes it away before. */
	meter_read_thread(&tracee->seen);
	if (is_counting(tracee))
		count_last(tracee);
	if (s.early)
		place_orphans(tracee->seen.process);
	resume(tracee, 0);
}

/* A zombie, not reaped yet: all figures are final. */
static void look_last(const siginfo_t *told)
{
	struct tracee *tracee = find(told->si_pid);
	struct meter   *process;
	uint64_t       now = now_ns();
	int            status = told->si_status << 8;

	if (!tracee)
		return;
	process = tracee->seen.process;
	if (!process) {
		take_out(tracee);
		s.early--;
		s.lost_events++;
		free(tracee);
		return;
	}
	if (told->si_code != CLD_EXITED)
		status = told->si_status | (told->si_code == CLD_DUMPED ? 0x80 : 0);
	if (s.early)
		place_orphans(process);
	take_out(tracee);
	if (tracee->thread != process->record.pid) {
		meter_read_thread(&tracee->seen);
		meter_end_thread(&tracee->seen, now, status);
		return;
	}
	/* Death by SIGKILL is a signal that shows in no stop. */
	if (told->si_code != CLD_EXITED && told->si_status == SIGKILL)
		tracee->seen.record.figure[signals]++;
	meter_read(process, now);
	meter_end(process, now, status);
}

/* -- Signals -- */

/* Ptrace shows a signal that the process ignores, as it would come without: but that one is delivered to nobody. */
static int is_ignored(pid_t thread, int signal)
{
	struct procfs_status status = { 0 };
	uint64_t             bit = UINT64_C(1) << (signal - 1);
	int                  by_default = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
	                                  signal == SIGWINCH;

	if (read_status(thread, &status))
		return 0;
	return (status.ignored & bit) || (by_default && !(status.caught & bit));
}

static void stopped_at_signal(struct tracee *tracee, int signal)
{
	uint64_t *count = &tracee->seen.record.figure[signals];

	if (!is_ignored(tracee->thread, signal))
		(*count)++;
	else if (tracee->is_restarting)
		uncount(tracee);
	tracee->is_restarting = 0;
	resume(tracee, signal);
}

static void stopped(const struct stop *stop)
{
	struct tracee *tracee = find(stop->thread);
	int            event = stop->status >> 16, signal = WSTOPSIG(stop->status);

	if (!tracee && event == PTRACE_EVENT_STOP)
		keep_early(stop->thread);
	else if (!tracee)
		ptrace(PTRACE_DETACH, stop->thread, 0, event ? 0 : signal);
	if (!tracee || !tracee->seen.process)
		return;
	tracee->seen.our_switches++;
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		stopped_at_birth(tracee);
		resume(tracee, 0);
		break;
	case PTRACE_EVENT_EXEC:
		stopped_at_exec(tracee);
		break;
	case PTRACE_EVENT_EXIT:
		stopped_at_end(tracee);
		break;
	case PTRACE_EVENT_STOP:
		if (tracee->is_newborn && !tracee->seen.record.watched_ns) {
			begin_newborn(tracee);
		} else if (signal != SIGTRAP) {
			/* Stopped by job control: it stays so, until a SIGCONT brings it here again. */
			ptrace(PTRACE_LISTEN, tracee->thread, 0, 0);
		} else {
			if (tracee->is_attaching && is_counting(tracee))
				count_interrupted(tracee);
			tracee->is_attaching = 0;
			resume(tracee, 0);
		}
		break;
	default:
		if (signal == SYSCALL_STOP) {
			stopped_at_call(tracee);
			resume(tracee, 0);
		} else {
			stopped_at_signal(tracee, signal);
		}
	}
}

/* -- Waiting -- */

static void keep_stop(pid_t thread, int status)
{
	if (s.stop_count == s.stop_room) {
		s.stop_room = s.stop_room ? 2 * s.stop_room : 64;
		s.stops = realloc(s.stops, s.stop_room * sizeof *s.stops);
		if (!s.stops)
			abort();
	}
	s.stops[s.stop_count++] = (struct stop){ thread, status };
}

/* Takes all that have stopped, and only then handles and resumes them: so none is left waiting because another
 * stops again and again. Returns whether there was anything. */
static int take_stops(void)
{
	int ends = 0;

	s.stop_count = 0;
	for (;;) {
		siginfo_t told = { 0 };
		int       status;

		if (waitid(P_ALL, 0, &told, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) || !told.si_pid)
			break;
		if (told.si_code == CLD_EXITED || told.si_code == CLD_KILLED || told.si_code == CLD_DUMPED) {
			look_last(&told);
			ends++;
		}
		if (waitpid(told.si_pid, &status, WNOHANG | __WALL) != told.si_pid)
			continue;
		if (WIFSTOPPED(status)) {
			keep_stop(told.si_pid, status);
		} else if (told.si_pid == outside.command) {
			outside.command_status = status;
			outside.command_ended = 1;
		}
	}
	for (size_t i = 0; i < s.stop_count; i++)
		stopped(&s.stops[i]);
	return s.stop_count || ends;
}

static enum woken wait_until(uint64_t until_ns)
{
	for (;;) {
		int is_busy;

		/* First of all the signals, so that one that comes later wakes the wait. */
		outside_check();
		is_busy = take_stops();
		if (outside.stop || outside.command_ended)
			return WOKEN_BY_SIGNAL;
		if (!s.tracees)
			return WOKEN_BY_END;
		if (now_ns() >= until_ns)
			return WOKEN_BY_TIME;
		if (wait_quietly(is_busy ? 0 : until_ns, -1) == WOKEN_BY_CONTROL)
			return WOKEN_BY_CONTROL;
	}
}

/* -- Beginning -- */

static int seize(pid_t thread)
{
	return ptrace(PTRACE_SEIZE, thread, 0, OPTIONS) ? -1 : 0;
}

struct attaching {
	struct meter *process;
	size_t       added;
	int          error; /* of a thread that could not be attached */
};

static void attach_thread(pid_t thread, void *context)
{
	struct attaching    *attaching = context;
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	struct tracee       *tracee;
	uint64_t             begin_ns = attaching->process->record.begin_ns;
	int                  directory;

	if (find(thread))
		return;
	if (seize(thread)) {
		int error = errno;

		/* One that was born under our eyes is ours already, and one that is ending cannot be attached. */
		directory = procfs_open(attaching->process->record.pid, thread);
		if (directory < 0)
			return;
		if (!procfs_stat(directory, &stat) && stat.state != 'Z' && stat.state != 'X' &&
		    !procfs_status(directory, &status, NULL) && status.tracer != getpid())
			attaching->error = error;
		close(directory);
		return;
	}
	directory = procfs_open(attaching->process->record.pid, thread);
	if (directory >= 0) {
		if (!procfs_stat(directory, &stat))
			begin_ns = stat.begin_ns;
		close(directory);
	}
	tracee = add_tracee(attaching->process, thread, begin_ns);
	attaching->added++;
	if (s.counts_calls) {
		tracee->is_attaching = 1;
		ptrace(PTRACE_INTERRUPT, thread, 0, 0);
	}
}

/* Returns the process, or NULL with errno: ESRCH if it has ended. */
static struct meter *attach(pid_t pid, struct meter *parent)
{
	struct attaching   attaching = { 0 };
	struct procfs_stat stat = { 0 };
	int                directory = procfs_open(pid, 0);
	int                wrong = directory < 0 || procfs_stat(directory, &stat) || stat.state == 'Z';

	if (directory >= 0)
		close(directory);
	if (wrong) {
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
		while (attaching.process->threads) {
			struct tracee *tracee = (struct tracee *)attaching.process->threads;

			take_out(tracee);
			meter_end_thread(&tracee->seen, UNKNOWN, -1);
		}
		meter_end(attaching.process, UNKNOWN, -1);
		errno = attaching.error ? attaching.error : ESRCH;
		return NULL;
	}
	meter_begin(attaching.process, now_ns(), 0);
	return attaching.process;
}

/* Whoever waits for our records must not be stopped while we write them: our own line is not followed unless it is
 * named. */
static int is_our_line(pid_t pid)
{
	struct procfs_status status = { 0 };

	for (pid_t one = getpid(); one > 1; one = status.parent) {
		if (one == pid)
			return 1;
		if (read_status(one, &status))
			break;
	}
	return 0;
}

struct family {
	struct meter *parent;
	pid_t       *passed_over; /* by --children, so that no pass counts them again */
	size_t       passed_count;
	size_t       added;
};

static void attach_child(pid_t pid, void *context)
{
	struct family *family = context;

	if (meter_find(pid) || pid == s.order->except || is_our_line(pid))
		return;
	for (size_t i = 0; i < family->passed_count; i++)
		if (family->passed_over[i] == pid)
			return;
	family->parent->record.children++;
	if (is_chosen(family->parent)) {
		if (attach(pid, family->parent))
			family->added++;
		else if (errno != ESRCH)
			s.lost_events++;
	} else {
		s.unfollowed++;
	}
	if (meter_find(pid))
		return;
	family->passed_over =
		realloc(family->passed_over, (family->passed_count + 1) * sizeof *family->passed_over);
	if (!family->passed_over)
		abort();
	family->passed_over[family->passed_count++] = pid;
}

/* All descendants of those that are watched, until a pass finds none that is new. A child that is born meanwhile of
 * one that is watched is attached by the kernel. */
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
	else if (!read_status(pid, &status) && status.tracer && status.tracer != getpid())
		snprintf(why, why_room, "process %d cannot be attached: process %d traces it already", (int)pid,
		         (int)status.tracer);
	else
		snprintf(why, why_room,
		         "process %d cannot be attached: %s (it must be the same user's, or be watched by root)",
		         (int)pid, strerror(error));
	return -1;
}

static int begin_command(pid_t child, char *why, size_t why_room)
{
	struct meter *process;

	if (seize(child))
		return say_why(child, errno, why, why_room);
	process = meter_add(child, NULL, now_ns());
	process->record.parent = getpid();
	add_tracee(process, child, process->record.begin_ns);
	return 0;
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	s.order = order;
	s.counts_calls = order->detail == CALLS || order->detail == LATENCY;
	meters_open(order);
	outside.backend_reaps = 1; /* tracees are told of as children are */
	if (child)
		return begin_command(child, why, why_room);
	for (size_t i = 0; i < order->pid_count; i++) {
		if (find(order->pids[i]) || order->pids[i] == order->except)
			continue; /* named twice, or not to be watched */
		if (attach(order->pids[i], NULL))
			continue;
		if (errno != ESRCH)
			return say_why(order->pids[i], errno, why, why_room);
		s.lost_events++; /* it has ended since it was named */
	}
	if (!meters_first)
		return say_why(order->pids[0], ESRCH, why, why_room);
	attach_families();
	return 0;
}

/* -- The rest of the seam -- */

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
	take_stops();
	now = now_ns();
	while (meters_first) {
		if (meters_first->has_begun)
			meter_read(meters_first, now);
		for (struct thread_meter *thread = meters_first->threads; thread; thread = thread->next)
			take_out((struct tracee *)thread);
		meter_end(meters_first, UNKNOWN, -1);
	}
	meters_total(&account->total);
	account->hits = s.hits;
	account->maps_bytes = 0;
	account->lost_slots = 0;
	account->lost_calls = 0;
	account->lost_events = s.lost_events;
	account->unfollowed = s.unfollowed;
}

/* Whether a process may be traced at all: a child of our own is, by the most cautious rules but one. */
static int try_seizing(char *why, size_t why_room)
{
	struct __ptrace_syscall_info info;
	int                          gate[2], error = 0, status;
	pid_t                        child;
	char                         nothing;

	if (pipe(gate) || (child = fork()) < 0) {
		snprintf(why, why_room, "no process to try ptrace on: %s", strerror(errno));
		return -1;
	}
	if (child == 0) {
		close(gate[1]);
		_exit(read(gate[0], &nothing, 1) != 0);
	}
	if (seize(child) || ptrace(PTRACE_INTERRUPT, child, 0, 0) || waitpid(child, &status, __WALL) != child ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0)
		error = errno;
	close(gate[0]);
	close(gate[1]);
	kill(child, SIGKILL);
	while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, child, 0, 0);
	if (!error)
		return 0;
	snprintf(why, why_room, "ptrace is not allowed here, or the kernel is older than 5.3: %s", strerror(error));
	return -1;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
	const char *reason = NULL;

	if (order->detail == BUDGET)
		reason = "a stop at each call slows calls by so much that the rate within a window says nothing of the time "
		         "outside it: no window keeps a budget; detail life costs nothing per call, calls counts them all";
	else if (order->detail == PROFILE)
		reason = "ptrace sees calls begin and end, and cannot sample them";
	else if (order->cgroup)
		reason = "ptrace follows processes, and is not told who enters a cgroup";
	else if (order->prove)
		reason = "there is no hook that could be taken away for a moment";
	if (!reason)
		return try_seizing(why, why_room);
	snprintf(why, why_room, "%s", reason);
	return -1;
}

static const char *const *missing(const struct order *order)
{
	static const char *said[12];
	size_t             count = 0;

	said[count++] = "the watched processes are traced: they stop for a moment when one is made, executes a program, "
	                "gets a signal or ends, and nobody else (strace, gdb) can trace them meanwhile";
	said[count++] = "blocked_ns holds the time of these stops as well";
	said[count++] = "a child made with CLONE_UNTRACED is not seen";
	if (geteuid())
		said[count++] = "a set-user-id program gains no privilege while it is traced by an ordinary user";
	if (order->detail == LIFE)
		said[count++] = "calls are not counted at detail life";
	else
		said[count++] = "every call stops its process twice: times, and all that depends on them, are far from what "
		                "they would be unwatched";
	if (order->detail == LATENCY)
		said[count++] = "time inside a call includes its two stops";
	if (order->pid_count && order->detail != LIFE)
		said[count++] = "a thread that was asleep in a call when it was attached was woken once: some calls, as "
		                "epoll_wait, then fail with EINTR";
	if (order->children > 1)
		said[count++] = "what the children cost that --children leaves out is not known";
	said[count] = NULL;
	return said;
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
