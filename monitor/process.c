/* process.c -- see monitor.h: what is known of a process, and sums of it. */
#include "monitor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/list.h"

_Static_assert(FIGURES <= 32, "struct process has a bit for each");

const struct declaration figures[FIGURES] = {
#define FIGURE(name, unit, kind, ...) [name] = { #name, kind },
#include "figures.def"
#undef FIGURE
};

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

void figures_forget(uint64_t figure[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds)
			figure[i] = UNKNOWN;
}

void figures_take(uint64_t figure[FIGURES], const uint64_t from[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds && from[i] != UNKNOWN)
			figure[i] = from[i];
}

void figures_raise(uint64_t figure[FIGURES], const uint64_t to[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds)
			figure[i] = larger(figure[i], to[i]);
}

void figures_add(uint64_t total[FIGURES], const uint64_t part[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds)
			total[i] = figures[i].kind & SUMS ? sum(total[i], part[i])
			                                  : larger(total[i], part[i]);
}

void figures_subtract(uint64_t figure[FIGURES], const uint64_t first[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (!(figures[i].kind & kinds) || figure[i] == UNKNOWN)
			continue;
		else if (first[i] == UNKNOWN)
			figure[i] = UNKNOWN;
		else
			figure[i] = figure[i] > first[i] ? figure[i] - first[i] : 0;
}

void figures_begin(uint64_t figure[FIGURES])
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind == BEGIN)
			figure[i] = figure[i + 1];
}

/* After cputime_adjust in Linux' kernel/sched/cputime.c: the shares of the ticks, of the exact
 * time. */
void figures_split_time(uint64_t figure[FIGURES])
{
	uint64_t user = figure[cpu_user_ns], system = figure[cpu_system_ns], exact = figure[run_ns];

	if (user == UNKNOWN || system == UNKNOWN || exact == UNKNOWN)
		return;
	if (system && user)
		system = (uint64_t)((unsigned __int128)system * exact / (system + user));
	else if (system)
		system = exact;
	figure[cpu_system_ns] = system;
	figure[cpu_user_ns] = exact - system;
}

void process_clear(struct process *process)
{
	memset(process, 0, sizeof *process);
	process->status = -1;
	process->end_ns = process->threads = process->children = UNKNOWN;
	process->samples_user = process->samples_kernel = UNKNOWN;
	figures_forget(process->figure, ALL);
}

void process_cut_short(struct process *process, unsigned kinds)
{
	figures_forget(process->figure, kinds & END);
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds & (SUMS | PEAK) && process->figure[i] != UNKNOWN)
			process->at_least |= UINT32_C(1) << i;
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
			no_memory();
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
		no_memory();
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		call->histogram[i] += part->histogram[i];
}

void process_copy(struct process *copy, const struct process *process)
{
	*copy = *process;
	copy->calls = NULL;
	copy->call_count = 0;
	for (size_t i = 0; i < process->call_count; i++) {
		const struct call_type *call = &process->calls[i];

		call_add(process_call(copy, call->abi, call->number), call);
	}
}

void process_add(struct process *process, const struct process *part)
{
	figures_add(process->figure, part->figure, ALL);
	for (size_t i = 0; i < part->call_count; i++)
		call_add(process_call(process, part->calls[i].abi, part->calls[i].number),
		         &part->calls[i]);
	process->at_least |= part->at_least;
	process->calls_known |= part->calls_known;
	process->is_missed |= part->is_missed;
	process->missed_run_ns += part->missed_run_ns;
	process->windows_active += part->windows_active;
	process->windows_run_ns += part->windows_run_ns;
	process->windows_weighted_ns += part->windows_weighted_ns;
	process->windows_weighted_twice_ns += part->windows_weighted_twice_ns;
	process->windows_hook_ns += part->windows_hook_ns;
	process->windows_run_squares += part->windows_run_squares;
	process->samples_user = sum(process->samples_user, part->samples_user);
	process->samples_kernel = sum(process->samples_kernel, part->samples_kernel);
}

void no_memory(void)
{
	static const char sentence[] =
		"steelyard-watch: no memory is left for the records of processes\n";

	if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0)
		_exit(1);
	_exit(1);
}

void *list_grow(void *list, size_t count, size_t *room, size_t size)
{
	list = list_room(list, count, room, size);
	if (!list)
		no_memory();
	return list;
}
