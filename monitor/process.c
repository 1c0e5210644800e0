/* process.c -- see monitor.h: what is known of a process, and sums of it. */
#include "monitor.h"

#include <stdlib.h>
#include <string.h>

const int figure_is_level[FIGURES] = {
#define FIGURE(name) [name] = 0,
#define LEVEL(name)  [name] = 1,
#include "figures.def"
#undef FIGURE
#undef LEVEL
};

void process_clear(struct process *process)
{
	memset(process, 0, sizeof *process);
	process->end_ns = UNKNOWN;
	process->status = -1;
	process->threads = UNKNOWN;
	process->children = UNKNOWN;
	process->samples_user = UNKNOWN;
	process->samples_kernel = UNKNOWN;
	for (int i = 0; i < FIGURES; i++)
		process->figure[i] = UNKNOWN;
}

struct call_type *process_call(struct process *process, enum abi abi, uint32_t number)
{
	struct call_type *call;

	for (size_t i = 0; i < process->call_count; i++) {
		call = &process->calls[i];
		if (call->number == number && call->abi == abi)
			return call;
	}
	/* Room grows by doubling: at the powers of two, from eight on. */
	if (process->call_count == 0 ||
	    (process->call_count >= 8 && !(process->call_count & (process->call_count - 1)))) {
		size_t room = process->call_count ? 2 * process->call_count : 8;

		process->calls = realloc(process->calls, room * sizeof *process->calls);
		if (!process->calls)
			abort();
	}
	call = &process->calls[process->call_count++];
	memset(call, 0, sizeof *call);
	call->abi = abi;
	call->number = number;
	call->time_ns = UNKNOWN;
	call->samples = UNKNOWN;
	return call;
}

void process_free_calls(struct process *process)
{
	for (size_t i = 0; i < process->call_count; i++)
		free(process->calls[i].histogram);
	free(process->calls);
	process->calls = NULL;
	process->call_count = 0;
}

/* Unknown and known give the known: a part that could not be seen is said elsewhere. */
static uint64_t sum(uint64_t one, uint64_t other)
{
	if (one == UNKNOWN)
		return other;
	return other == UNKNOWN ? one : one + other;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	if (one == UNKNOWN)
		return other;
	return other == UNKNOWN || one > other ? one : other;
}

static void call_add(struct call_type *call, const struct call_type *part)
{
	call->calls = sum(call->calls, part->calls);
	call->errors = sum(call->errors, part->errors);
	call->in_windows += part->in_windows;
	call->errors_in_windows += part->errors_in_windows;
	call->time_ns = sum(call->time_ns, part->time_ns);
	call->samples = sum(call->samples, part->samples);
	call->weighted += part->weighted;
	call->weighted_errors += part->weighted_errors;
	call->squares += part->squares;
	call->products += part->products;
	if (!part->histogram)
		return;
	if (!call->histogram)
		call->histogram = calloc(HISTOGRAM_BUCKETS, sizeof *call->histogram);
	if (!call->histogram)
		abort();
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		call->histogram[i] += part->histogram[i];
}

void process_add(struct process *process, const struct process *part)
{
	for (int i = 0; i < FIGURES; i++)
		process->figure[i] = figure_is_level[i] ? larger(process->figure[i], part->figure[i])
		                                 : sum(process->figure[i], part->figure[i]);
	for (size_t i = 0; i < part->call_count; i++)
		call_add(process_call(process, part->calls[i].abi, part->calls[i].number), &part->calls[i]);
	process->calls_known |= part->calls_known;
	process->is_missed |= part->is_missed;
	process->missed_run_ns += part->missed_run_ns;
	process->windows_active += part->windows_active;
	process->windows_run_ns += part->windows_run_ns;
	process->windows_weighted_ns += part->windows_weighted_ns;
	process->windows_hook_ns += part->windows_hook_ns;
	process->windows_run_squares += part->windows_run_squares;
	process->samples_user = sum(process->samples_user, part->samples_user);
	process->samples_kernel = sum(process->samples_kernel, part->samples_kernel);
}

/* After cputime_adjust in Linux' kernel/sched/cputime.c: the shares of the ticks, of the exact time. */
void cputime_split(uint64_t exact_ns, uint64_t user_ticks_ns, uint64_t system_ticks_ns, uint64_t *user_ns,
                   uint64_t *system_ns)
{
	if (!system_ticks_ns)
		*system_ns = 0;
	else if (!user_ticks_ns)
		*system_ns = exact_ns;
	else
		*system_ns = (uint64_t)((unsigned __int128)system_ticks_ns * exact_ns /
		                        (system_ticks_ns + user_ticks_ns));
	*user_ns = exact_ns - *system_ns;
}
