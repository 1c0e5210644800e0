/* counting.c -- see ptrace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "ptrace.h"

static int bucket_of(uint64_t ns)
{
	int bucket = ns < 128 ? 0 : 57 - __builtin_clzll(ns);

	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static void count_in(struct process *record, const struct tracee *tracee, int is_error,
                     uint64_t took_ns)
{
	struct call_type *call = process_call(record, tracee->abi, tracee->number);

	call->calls++;
	call->errors += (uint64_t)is_error;
	if (took_ns == UNKNOWN)
		return;
	if (!call->histogram &&
	    !(call->histogram = calloc(HISTOGRAM_BUCKETS, sizeof *call->histogram)))
		no_memory();
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

	if (tracer.order->detail == LATENCY && tracee->entered_ns)
		took_ns = boottime_ns() - tracee->entered_ns;
	tracee->in_call = 0;
	tracee->entered_ns = 0;
	tracee->is_restarting = is_restart(result);
	tracee->took_ns = took_ns;
	count_in(&tracee->meter.process->record, tracee, is_error, took_ns);
	if (tracer.order->threads)
		count_in(&tracee->meter.record, tracee, is_error, took_ns);
}

void uncount(struct tracee *tracee)
{
	tracee->is_restarting = 0;
	tracee->is_continued = 1;
	uncount_in(&tracee->meter.process->record, tracee);
	if (tracer.order->threads)
		uncount_in(&tracee->meter.record, tracee);
}

static void set_call(struct tracee *tracee, uint32_t architecture, uint64_t number)
{
	tracee->in_call = 1;
	tracee->abi = registers_abi(architecture, &number);
	tracee->number = number < OTHER_CALLS ? (uint32_t)number : OTHER_CALLS;
}

static int is_named(const struct tracee *tracee, const char *name)
{
	const char *known = call_name(tracee->abi, tracee->number);

	return known && !strcmp(known, name);
}

void count_at_stop(struct tracee *tracee)
{
	struct __ptrace_syscall_info info;
	uint64_t                     number;
	int64_t                      result;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->thread, sizeof info, &info) <= 0)
		return;
	tracer.hits++;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		enum abi abi = tracee->abi;
		uint32_t before = tracee->number;

		set_call(tracee, info.arch, info.entry.nr);
		if (tracee->is_continued && tracee->abi == abi &&
		    is_named(tracee, "restart_syscall"))
			tracee->number = before;
		tracee->is_continued = 0;
		tracee->is_restarting = 0;
		tracee->entered_ns = tracer.order->detail == LATENCY ? boottime_ns() : 0;
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		/* A new process's first return is from a call that its parent made. */
		if (!tracee->in_call && !tracee->is_newborn &&
		    !registers_read(tracee->thread, &number, &result))
			set_call(tracee, info.arch, number);
		if (tracee->in_call)
			count(tracee, info.exit.rval);
	}
	tracee->is_newborn = 0;
}

void count_interrupted(struct tracee *tracee)
{
	uint64_t number;
	int64_t  result;

	if (registers_read(tracee->thread, &number, &result))
		return;
	set_call(tracee, registers_architecture(tracee->thread), number);
	if (!is_restart(result)) {
		count(tracee, result);
		return;
	}
	tracee->in_call = 0;
	tracee->is_continued = 1;
}

void count_last(struct tracee *tracee)
{
	uint64_t number;
	int64_t  result = 0;

	if (!tracee->in_call && !tracee->is_attaching)
		return;
	if (registers_read(tracee->thread, &number, &result) && !tracee->in_call)
		return;
	if (!tracee->in_call)
		set_call(tracee, registers_architecture(tracee->thread), number);
	tracee->entered_ns = 0; /* it does not return */
	if (is_named(tracee, "exit") || is_named(tracee, "exit_group"))
		count(tracee, 0);
	else if (result != -ENOSYS)
		count(tracee, result);
}
