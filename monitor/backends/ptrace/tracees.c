/* tracees.c -- see ptrace.h. */
#include <stdlib.h>
#include <sys/ptrace.h>

#include "ptrace.h"

enum { BUCKETS = 4096 };

struct tracer tracer;

static struct tracee *table[BUCKETS];

static struct tracee **place_of(pid_t thread)
{
	struct tracee **link = &table[(unsigned)thread % BUCKETS];

	while (*link && (*link)->thread != thread)
		link = &(*link)->chain;
	return link;
}

struct tracee *tracee_find(pid_t thread)
{
	return *place_of(thread);
}

static void enter(struct tracee *tracee, pid_t thread)
{
	struct tracee **link = place_of(thread);

	tracee->thread = thread;
	tracee->chain = *link;
	*link = tracee;
	tracer.tracees++;
}

void tracee_take_out(struct tracee *tracee)
{
	*place_of(tracee->thread) = tracee->chain;
	tracee->chain = NULL;
	tracer.tracees--;
}

struct tracee *tracee_add(struct meter *process, pid_t thread, uint64_t begin_ns)
{
	struct tracee *tracee = (struct tracee *)meter_add_thread(process, thread, begin_ns);

	tracee->meter.record.figure[signals] = 0;
	tracee->meter.record.calls_known = tracer.counts_calls;
	process->record.calls_known = tracer.counts_calls;
	enter(tracee, thread);
	return tracee;
}

void tracee_renumber(struct tracee *tracee, pid_t thread)
{
	tracee_take_out(tracee);
	enter(tracee, thread);
}

void tracee_add_early(pid_t thread)
{
	struct tracee *tracee = calloc(1, sizeof *tracee);

	if (!tracee)
		no_memory();
	enter(tracee, thread);
	tracer.early++;
}

void tracee_drop_early(struct tracee *tracee)
{
	tracee_take_out(tracee);
	tracer.early--;
	free(tracee);
}

void tracees_early(void (*each)(struct tracee *early, void *context), void *context)
{
	for (size_t i = 0; tracer.early && i < BUCKETS; i++)
		for (struct tracee *tracee = table[i], *next; tracee; tracee = next) {
			next = tracee->chain;
			if (!tracee->meter.process)
				each(tracee, context);
		}
}

int tracee_is_counting(const struct tracee *tracee)
{
	return tracer.counts_calls && tracee->meter.process->has_begun;
}

void tracee_resume(struct tracee *tracee, int signal)
{
	/* One that was killed meanwhile cannot be resumed, and need not be: its end will show. */
	ptrace(tracee_is_counting(tracee) ? PTRACE_SYSCALL : PTRACE_CONT, tracee->thread, 0,
	       signal);
}
