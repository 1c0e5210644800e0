/* kinds.c -- see kinds.h. */
#include "kinds.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kinds kinds;

#define ERROR "ret < 0 && ret >= -4095"

/* The calls that have counters of their own, as their tracepoints are called. The rest is
 * "other". */
static const struct named_call {
	uint32_t    number;
	const char *name;
	int         makes_task; /* returns twice: the child's 0 is not a call of the child's */
} named_calls[] = {
#define CALL(name)  { SYS_##name, #name, 0 }
#define BIRTH(name) { SYS_##name, #name, 1 }
	CALL(read),           CALL(write),      CALL(openat),
	CALL(close),          CALL(lseek),      { SYS_fstat, "newfstat", 0 },
	CALL(newfstatat),     CALL(mmap),       CALL(munmap),
	CALL(mprotect),       CALL(brk),        CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(ioctl),      CALL(pread64),
	CALL(pwrite64),       CALL(futex),      CALL(ppoll),
	CALL(epoll_pwait),    CALL(sendto),     CALL(recvfrom),
	CALL(getppid),        BIRTH(clone),     BIRTH(clone3),
	CALL(execve),         CALL(wait4),
#ifdef SYS_fork
	CALL(poll),           CALL(epoll_wait), BIRTH(fork),
	BIRTH(vfork),
#endif
};
/* Those that never return are counted where they begin. */
static const struct named_call ends[] = { { SYS_exit, "exit", 0 },
	                                  { SYS_exit_group, "exit_group", 0 } };

/* Where tracepoints have their numbers: tracefs, mounted or not. The file is the caller's to close;
 * or -1. */
static int open_tracefs(void)
{
	static const char *const places[] = { "/sys/kernel/tracing/events",
		                              "/sys/kernel/debug/tracing/events" };
	int                      mount = -1, context, file;

	for (size_t i = 0; i < 2; i++)
		if ((file = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
			return file;
	/* A mount of our own that has no place in the tree of files, and ends with its
	 * descriptor. */
	context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	if (mount < 0)
		return -1;
	file = openat(mount, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(mount);
	return file;
}

static int tracepoint(int events, const char *name, uint64_t *config)
{
	char    path[128], text[32];
	ssize_t length;
	int     file;

	snprintf(path, sizeof path, "%s/id", name);
	file = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	length = read(file, text, sizeof text - 1);
	close(file);
	if (length <= 0)
		return -1;
	text[length] = '\0';
	*config = strtoull(text, NULL, 10);
	return 0;
}

static void add_software(enum role role, uint32_t number, uint64_t config)
{
	kinds.list[kinds.count++] = (struct kind){ role, number, PERF_TYPE_SOFTWARE, config, NULL };
}

static int add_tracepoint(int events, const char *name, struct kind kind)
{
	kind.type = PERF_TYPE_TRACEPOINT;
	if (tracepoint(events, name, &kind.config))
		return -1;
	kinds.list[kinds.count++] = kind;
	return 0;
}

static void add_named(int events, const struct named_call *call)
{
	char name[64];

	snprintf(name, sizeof name, "syscalls/sys_exit_%s", call->name);
	add_tracepoint(events, name,
	               (struct kind){ .role = OF_CALL,
	                              .number = call->number,
	                              .filter = call->makes_task ? "ret != 0" : NULL });
	add_tracepoint(events, name,
	               (struct kind){ .role = OF_ERRORS, .number = call->number, .filter = ERROR });
}

/* All but the second return of what makes a task, by that call's number. */
static const char *only_returns_to_callers(void)
{
	static char filter[256];
	size_t      length = 0;

	for (size_t i = 0; i < sizeof named_calls / sizeof *named_calls; i++)
		if (named_calls[i].makes_task)
			length += (size_t)snprintf(filter + length, sizeof filter - length,
			                           "%sid == %u",
			                           length ? " || " : "!(ret == 0 && (",
			                           named_calls[i].number);
	snprintf(filter + length, sizeof filter - length, "))");
	return filter;
}

static int choose_calls(int events)
{
	if (add_tracepoint(events, "raw_syscalls/sys_exit",
	                   (struct kind){ .role = OF_ALL_CALLS,
	                                  .filter = only_returns_to_callers() }))
		return -1;
	add_tracepoint(events, "raw_syscalls/sys_exit",
	               (struct kind){ .role = OF_ALL_ERRORS, .filter = ERROR });
	for (size_t i = 0; i < sizeof named_calls / sizeof *named_calls; i++)
		add_named(events, &named_calls[i]);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char name[64];

		snprintf(name, sizeof name, "syscalls/sys_enter_%s", ends[i].name);
		if (add_tracepoint(events, name,
		                   (struct kind){ .role = OF_CALL, .number = ends[i].number }))
			return -1;
	}
	return 0;
}

int kinds_choose(enum detail detail)
{
	int events = open_tracefs();
	int answer = 0;

	kinds.count = 0;
	add_software(OF_FIGURE, run_ns, PERF_COUNT_SW_TASK_CLOCK);
	if (!kinds.is_user_only) {
		add_software(OF_FIGURE, faults_minor, PERF_COUNT_SW_PAGE_FAULTS_MIN);
		add_software(OF_FIGURE, faults_major, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
		add_software(OF_SWITCHES, 0, PERF_COUNT_SW_CONTEXT_SWITCHES);
		/* 0: it could have gone on; from 256 on, TASK_REPORT_MAX: it was preempted. */
		add_tracepoint(events, "sched/sched_switch",
		               (struct kind){ .role = OF_INVOLUNTARY,
		                              .filter = "prev_state == 0 || prev_state >= 256" });
		add_tracepoint(events, "signal/signal_deliver",
		               (struct kind){ .role = OF_FIGURE, .number = signals });
	}
	if (detail == CALLS)
		answer = kinds.is_user_only ? -1 : choose_calls(events);
	if (events >= 0)
		close(events);
	return answer;
}

static void tell_calls(struct process *process, const uint64_t counts[])
{
	uint64_t all = 0, all_errors = 0, named = 0, named_errors = 0;

	process_free_calls(process);
	for (size_t i = 0; i < kinds.count; i++) {
		const struct kind *kind = &kinds.list[i];

		if (kind->role == OF_ALL_CALLS) {
			process->calls_known = 1;
			all = counts[i];
		} else if (kind->role == OF_ALL_ERRORS) {
			all_errors = counts[i];
		} else if (kind->role == OF_CALL && counts[i]) {
			process_call(process, ABI_NATIVE, kind->number)->calls = counts[i];
			if (kind->number != SYS_exit && kind->number != SYS_exit_group)
				named += counts[i];
		} else if (kind->role == OF_ERRORS && counts[i]) {
			process_call(process, ABI_NATIVE, kind->number)->errors = counts[i];
			named_errors += counts[i];
		}
	}
	if (all > named) {
		process_call(process, ABI_NATIVE, OTHER_CALLS)->calls = all - named;
		process_call(process, ABI_NATIVE, OTHER_CALLS)->errors =
			all_errors > named_errors ? all_errors - named_errors : 0;
	}
}

void kinds_tell(struct process *process, const uint64_t counts[])
{
	uint64_t switches = UNKNOWN;

	for (size_t i = 0; i < kinds.count; i++)
		if (kinds.list[i].role == OF_FIGURE)
			process->figure[kinds.list[i].number] = counts[i];
		else if (kinds.list[i].role == OF_SWITCHES)
			switches = counts[i];
		else if (kinds.list[i].role == OF_INVOLUNTARY)
			process->figure[switches_involuntary] = counts[i];
	if (switches != UNKNOWN && process->figure[switches_involuntary] != UNKNOWN)
		process->figure[switches_voluntary] =
			switches > process->figure[switches_involuntary]
				? switches - process->figure[switches_involuntary]
				: 0;
	/* The shares that the ticks gave, of the time that is exact. */
	figures_split_time(process->figure);
	tell_calls(process, counts);
}
