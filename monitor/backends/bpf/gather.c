/* gather.c -- see gather.h.
 *
 * A slot belongs to a thread; a process is kept here, with what its ended threads cost, until its
 * last thread is gone. Then its record is written. The kernel's counters are cumulative, so
 * whenever they are read is right.
 */
#include "gather.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "hooks.h"

/* A watched process. `kept` holds its identity, the costs of its ended threads, and its calls as
 * far as they were folded. */
struct member {
	struct process kept;
	struct process read; /* as the last reading had it */
	int            has_read;
	uint32_t       slots; /* the first of its threads' slots; chained by `next` */
	uint64_t       thread_count, child_count;
	uint64_t       adjusted_user_ns, adjusted_system_ns;
	int            is_changed;
	struct member *next, **link;   /* in the list of all */
	struct member *beside, **hook; /* in its bucket */
};

/* Our side of a slot. */
struct thread {
	struct member *owner;
	uint32_t       next;
	uint64_t *folded; /* its cells, as far as they are in owner->kept: words, as they lie in the
	                     map */
	struct counters read;
	int             is_missed;     /* calls of its were not counted, in pauses that are over, */
	uint64_t        missed_run_ns; /* in which it ran for so long */
	uint32_t        pause;         /* the pause before which it was read last: */
	int             was_running;
	uint64_t        run_ns, switches; /* as they were then */
};

#define FOLD_NS UINT64_C(30000000000)
enum { BUCKETS_OF_MEMBERS = 4096 };

static struct {
	const struct order *order;
	struct thread      *threads;
	struct member      *members;
	struct member      *bucket[BUCKETS_OF_MEMBERS]; /* the same, by pid */
	struct process      total; /* ended processes, and everybody's folded calls */
	uint64_t            processes;
	uint32_t           *gone, gone_count;
	struct member     **over; /* those of which the last thread was buried just now */
	struct window {
		uint64_t begin_ns, length_ns;
	}        *windows;
	size_t    window_count, window_room;
	uint64_t  windows_ns;
	int       has_refreshed;
	uint32_t  enrolled;  /* rows known to have been given */
	uint64_t  folded_ns; /* when gather_fold last did its work */
	uint64_t *unslotted; /* row 0's cells as far as folded */
	uint32_t  pause;     /* number of the one that goes on, or was last */
	int       is_paused;
	uint64_t  paused_ns;  /* since when */
	uint64_t  stopped_ns; /* nothing is counted from then on */
} s = { .stopped_ns = UNKNOWN };

void gather_open(const struct order *order)
{
	s.order = order;
	s.threads = calloc(hooks.slots, sizeof *s.threads);
	s.gone = calloc(hooks.slots, sizeof *s.gone);
	s.over = calloc(hooks.slots, sizeof *s.over);
	if (!s.threads || !s.gone || !s.over)
		no_memory();
	process_clear(&s.total);
}

static int has_calls(void)
{
	return s.order->detail != LIFE;
}

/* -- Which processes and threads there are -- */

static void chain(struct member *member)
{
	struct member **bucket = &s.bucket[(uint32_t)member->kept.pid % BUCKETS_OF_MEMBERS];

	member->next = s.members;
	member->link = &s.members;
	if (s.members)
		s.members->link = &member->next;
	s.members = member;
	member->beside = *bucket;
	member->hook = bucket;
	if (*bucket)
		(*bucket)->hook = &member->beside;
	*bucket = member;
}

static void unchain(struct member *member)
{
	*member->link = member->next;
	if (member->next)
		member->next->link = member->link;
	*member->hook = member->beside;
	if (member->beside)
		member->beside->hook = member->hook;
}

static void identify(struct process *process, const struct row *row)
{
	process_clear(process);
	process->pid = row->process;
	process->parent = row->parent;
	process->generation = row->generation;
	process->attached = (int)row->attached;
	process->begin_ns = row->begin_ns;
	process->watched_ns = row->watched_ns;
}

static struct member *member_of(const struct row *row)
{
	struct member *member = s.bucket[(uint32_t)row->process % BUCKETS_OF_MEMBERS];

	for (; member; member = member->beside)
		if (member->kept.pid == row->process && member->kept.begin_ns == row->begin_ns)
			return member;
	member = calloc(1, sizeof *member);
	if (!member)
		no_memory();
	identify(&member->kept, row);
	member->kept.calls_known = has_calls();
	chain(member);
	s.processes++;
	return member;
}

static void adopt(uint32_t slot)
{
	struct thread *thread = &s.threads[slot];

	thread->owner = member_of(&hooks.rows[slot]);
	thread->next = thread->owner->slots;
	thread->owner->slots = slot;
	thread->owner->thread_count++;
}

static void adopt_new(void)
{
	uint32_t enrolled = hooks_enrolled(), highest = hooks_slots_highest();

	if (enrolled == s.enrolled)
		return;
	s.enrolled = enrolled;
	for (uint32_t slot = 1; slot <= highest; slot++)
		if (!s.threads[slot].owner &&
		    __atomic_load_n(&hooks.rows[slot].state, __ATOMIC_ACQUIRE) != ROW_FREE &&
		    slot != hooks.calibrated)
			adopt(slot);
}

/* -- What a thread cost -- */

static uint64_t less(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

static void memory_into(const struct row *row, struct process *process)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	/* Kernel threads, and those that were over before we came, have none. */
	if (!row->virtual_peak)
		return;
	process->figure[virtual_begin] = row->virtual_begin * page;
	process->figure[virtual_end] = row->virtual_end * page;
	process->figure[virtual_peak] = row->virtual_peak * page;
	/* A new program's first pages wait in counters of each processor, which are not in the sum
	 * yet. */
	process->figure[memory_begin] = row->memory_begin ? row->memory_begin * page : UNKNOWN;
	process->figure[memory_end] = row->memory_end * page;
	process->figure[memory_peak] = row->memory_peak * page;
	process->figure[swap_end] = row->swap_end * page;
	if (!row->memory_is_old)
		return;
	process_cut_short(process, LEVELS);
	/* The kernel's peak is of all its programs. If it has grown since the last one began, it is
	 * that one's. */
	if (row->most <= row->most_before)
		return;
	process->figure[memory_peak] = row->most * page;
	process->at_least &= ~(UINT32_C(1) << memory_peak);
}

static const enum figure not_yet_final[7] = {
	cpu_user_ns,        cpu_system_ns,        run_ns, wait_ns, blocked_ns,
	switches_voluntary, switches_involuntary,
};

/* cpu_user_ns and cpu_system_ns are ticks here: the split is made for the whole process. */
static void costs_into(const struct row *row, struct process *process)
{
	const struct counters *now = &row->now, *base = &row->base;
	uint64_t               end_ns = row->end_ns ? row->end_ns : boottime_ns();

#define COUNTER(name, source) process->figure[name] = less(now->name, base->name);
	COUNTERS_OF_TASK(COUNTER)
#undef COUNTER
	process->figure[signals] = row->signals;
	process->figure[blocked_ns] = less(less(end_ns, row->watched_ns),
	                                   process->figure[run_ns] + process->figure[wait_ns]);
	/* It has exited and is not final: its times and switches are of some moment before. */
	if (row->state == ROW_EXITED && row->walk != hooks.walk)
		for (int i = 0; i < 7; i++)
			process->figure[not_yet_final[i]] = UNKNOWN;
	memory_into(row, process);
}

/* A row of cells: a slot's own as they are just now, or a copy of them. */
static const uint64_t *cells_of(uint32_t slot)
{
	return (const uint64_t *)(const void *)hooks_cell(slot, 0);
}

static const struct timed_cell *cell_in(const uint64_t *cells, uint32_t cell)
{
	return (const struct timed_cell *)(const void *)(cells +
	                                                 cell * hooks.cell_bytes / sizeof *cells);
}

/* Which cell gained what since `old`, which may be NULL, into a process' call. */
static void gain_into(uint32_t cell, const struct timed_cell *now, const struct timed_cell *old,
                      struct process *process)
{
	uint64_t          gain = now->count - (old ? old->count : 0);
	uint64_t          count = gain & UINT32_MAX;
	struct call_type *call;
	enum abi          abi;
	uint32_t          number;

	if (s.order->detail == PROFILE && cell >= CELL_KERNEL) {
		uint64_t *samples = cell == CELL_USER ? &process->samples_user
		                                      : &process->samples_kernel;

		*samples = (*samples == UNKNOWN ? 0 : *samples) + count;
		return;
	}
	if (!gain || !hooks_call_of(cell, &abi, &number))
		return;
	call = process_call(process, abi, number);
	if (s.order->detail == PROFILE) {
		call->samples = (call->samples == UNKNOWN ? 0 : call->samples) + count;
		call->calls = call->errors = UNKNOWN;
		return;
	}
	call->calls += count;
	call->errors += (gain - count) >> 32;
	/* A call that does not return, or that was not seen to begin, took a time that nobody
	 * knows. */
	if (s.order->detail != LATENCY || now->time_ns == (old ? old->time_ns : 0))
		return;
	if (call->time_ns == UNKNOWN)
		call->time_ns = 0;
	call->time_ns += now->time_ns - (old ? old->time_ns : 0);
	if (!call->histogram &&
	    !(call->histogram = calloc(HISTOGRAM_BUCKETS, sizeof *call->histogram)))
		no_memory();
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		call->histogram[i] += now->histogram[i] - (old ? old->histogram[i] : 0);
}

/* What cells gained since they were folded; `folded` may be NULL. */
static void calls_into(const uint64_t *cells, const uint64_t *folded, struct process *process)
{
	if (!has_calls())
		return;
	process->calls_known = 1;
	for (uint32_t cell = 1; cell < (s.order->detail == PROFILE ? CELLS : CELL_KERNEL); cell++) {
		const struct timed_cell *old = folded ? cell_in(folded, cell) : NULL;

		if (cell >= CELL_KERNEL || cell_in(cells, cell)->count || (old && old->count))
			gain_into(cell, cell_in(cells, cell), old, process);
	}
}

/* Pauses in the counting. A thread that did not run in one made no call in it: whether it ran is
 * told by its run time and its switches, for those on no processor at the reading before, and
 * is on none now. */

static uint64_t switches_of(const struct row *row)
{
	return row->now.switches_voluntary + row->now.switches_involuntary;
}

/* What it has missed of the pause that goes on, as of the last reading. */
static void missed_in_pause(uint32_t slot, int *is_missed, uint64_t *missed_run_ns)
{
	const struct row    *row = &hooks.rows[slot];
	const struct thread *thread = &s.threads[slot];
	int                  was_there = thread->pause == s.pause;
	uint64_t             before_ns = was_there ? thread->run_ns : row->base.run_ns;

	*is_missed = 0;
	*missed_run_ns = 0;
	if (!s.is_paused || (row->end_ns && row->end_ns < s.paused_ns))
		return;
	*missed_run_ns = less(row->now.run_ns, before_ns);
	*is_missed = !was_there || thread->was_running || row->processor || row->end_ns ||
	             *missed_run_ns || thread->switches != switches_of(row);
	/* Row 0 is everybody's who has found no slot, and is told of at their ends alone. */
	if (slot == 0)
		*is_missed = hooks_lost_slots();
}

static void missed_into(uint32_t slot, struct process *process)
{
	const struct row    *row = &hooks.rows[slot];
	const struct thread *thread = &s.threads[slot];
	int                  is_missed;
	uint64_t             missed_run_ns;

	if (!has_calls())
		return;
	missed_in_pause(slot, &is_missed, &missed_run_ns);
	process->is_missed |= thread->is_missed || is_missed || row->late ||
	                      row->end_ns >= s.stopped_ns;
	process->missed_run_ns += thread->missed_run_ns + missed_run_ns;
}

static void name_into(const struct row *row, struct process *process)
{
	memcpy(process->program, row->program, sizeof process->program);
	memcpy(process->program_before, row->program_before, sizeof process->program_before);
	process->program[sizeof process->program - 1] = '\0';
	process->program_before[sizeof process->program_before - 1] = '\0';
}

static void write_thread(uint32_t slot)
{
	const struct row *row = &hooks.rows[slot];
	struct process    thread;

	identify(&thread, row);
	thread.thread = row->pid;
	thread.end_ns = row->end_ns ? row->end_ns : UNKNOWN;
	thread.children = row->children;
	name_into(row, &thread);
	costs_into(row, &thread);
	figures_split_time(thread.figure);
	calls_into(cells_of(slot), NULL, &thread);
	missed_into(slot, &thread);
	write_process(&thread);
	process_free_calls(&thread);
}

/* Adds what it called that is not folded yet. */
static void add_calls(struct process *sum, uint32_t slot)
{
	struct process calls;

	process_clear(&calls);
	calls_into(cells_of(slot), s.threads[slot].folded, &calls);
	process_add(sum, &calls);
	process_free_calls(&calls);
}

/* Adds what the thread cost that is not yet in a process. */
static void thread_into(uint32_t slot, struct process *process)
{
	struct process part;

	process_clear(&part);
	costs_into(&hooks.rows[slot], &part);
	calls_into(cells_of(slot), s.threads[slot].folded, &part);
	missed_into(slot, &part);
	process_add(process, &part);
	process_free_calls(&part);
}

/* -- Ends -- */

/* The windows that opened in its life. */
static void windows_into(struct process *process)
{
	uint64_t end_ns = process->end_ns == UNKNOWN ? boottime_ns() : process->end_ns;

	process->windows = 0;
	process->windows_ns = 0;
	for (size_t i = 0; i < s.window_count; i++) {
		if (s.windows[i].begin_ns < process->watched_ns || s.windows[i].begin_ns >= end_ns)
			continue;
		process->windows++;
		process->windows_ns += s.windows[i].length_ns;
	}
}

/* Ticks become the kernel's split of the exact time: its own, where a parent has asked for it. */
static void split(struct process *process, const struct member *member)
{
	int is_adjusted = member && !process->attached &&
	                  member->adjusted_user_ns + member->adjusted_system_ns;

	if (is_adjusted && process->figure[run_ns] != UNKNOWN) {
		process->figure[cpu_user_ns] = member->adjusted_user_ns;
		process->figure[cpu_system_ns] = member->adjusted_system_ns;
	} else {
		figures_split_time(process->figure);
	}
}

static void complete(struct process *process, const struct member *member)
{
	process->threads = member->thread_count;
	process->children = member->child_count;
	split(process, member);
	windows_into(process);
}

/* Into the total go the costs as they are written; its calls are there already, as far as they were
 * folded. */
static void forget(struct member *member)
{
	unchain(member);
	process_free_calls(&member->kept);
	process_free_calls(&member->read);
	free(member);
}

static void add_costs(struct process *total, const struct process *process)
{
	struct process costs;

	process_clear(&costs);
	memcpy(costs.figure, process->figure, sizeof costs.figure);
	costs.is_missed = process->is_missed;
	costs.missed_run_ns = process->missed_run_ns;
	process_add(total, &costs);
}

static void complete_command(struct process *process)
{
	if (process->pid == outside.command && outside.command_ended)
		command_complete(process);
}

static void conclude(struct member *member)
{
	complete(&member->kept, member);
	complete_command(&member->kept);
	write_process(&member->kept);
	add_costs(&s.total, &member->kept);
	forget(member);
}

/* Takes a gone thread's cells into the totals and its process, and gives its slot back. */
static void bury(uint32_t slot)
{
	struct thread    *thread = &s.threads[slot];
	struct member    *owner = thread->owner;
	const struct row *row = &hooks.rows[slot];
	uint32_t         *link = &owner->slots;

	if (s.order->threads)
		write_thread(slot);
	add_calls(&s.total, slot);
	thread_into(slot, &owner->kept);
	owner->child_count += row->children;
	if (row->pid == row->process || owner->kept.end_ns == UNKNOWN) {
		name_into(row, &owner->kept);
		/* The command's time before its exec was ours: its own must be split again. */
		owner->adjusted_user_ns = row->base.run_ns ? 0 : row->adjusted_user_ns;
		owner->adjusted_system_ns = row->base.run_ns ? 0 : row->adjusted_system_ns;
	}
	if (row->pid == row->process || row->by_group)
		owner->kept.status = row->status;
	if (owner->kept.end_ns == UNKNOWN || row->end_ns > owner->kept.end_ns)
		owner->kept.end_ns = row->end_ns;
	while (*link != slot)
		link = &s.threads[*link].next;
	*link = thread->next;
	free(thread->folded);
	memset(thread, 0, sizeof *thread);
	hooks_give_back(slot);
}

static void note_gone(uint32_t slot)
{
	if (s.gone_count < hooks.slots)
		s.gone[s.gone_count++] = slot;
}

void gather_ended(void)
{
	uint32_t count, over = 0;

	hooks_drain(note_gone);
	/* All that are there now are taken in before a process is declared over. */
	adopt_new();
	count = s.gone_count;
	s.gone_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct member *owner;

		if (s.gone[i] == hooks.calibrated) {
			hooks_retire(s.gone[i]);
			continue;
		}
		owner = s.threads[s.gone[i]].owner;
		bury(s.gone[i]);
		if (!owner->slots)
			s.over[over++] = owner;
	}
	/* All slots are free before anything is written: who reads it may be slow. */
	for (uint32_t i = 0; i < over; i++)
		conclude(s.over[i]);
}

int gather_is_empty(void)
{
	for (uint32_t slot = 1; slot <= hooks_slots_highest(); slot++)
		if (hooks.rows[slot].state == ROW_LIVE && slot != hooks.calibrated)
			return 0;
	return 1;
}

/* -- Readings -- */

/* A first walk changes everything, and a later one what has run. It does not say so again: it must
 * be kept. */
static void note_change(uint32_t slot)
{
	struct thread *thread = &s.threads[slot];

	if (!thread->owner || !memcmp(&thread->read, &hooks.rows[slot].now, sizeof thread->read))
		return;
	thread->read = hooks.rows[slot].now;
	thread->owner->is_changed = 1;
}

void gather_refresh(void)
{
	size_t          count;
	const uint32_t *changed;

	hooks_refresh();
	adopt_new();
	changed = hooks_changed(&count);
	for (size_t i = 0; changed && i < count; i++)
		note_change(changed[i]);
	for (uint32_t slot = 1; (!changed || !s.has_refreshed) && slot <= hooks_slots_highest();
	     slot++)
		note_change(slot);
	s.has_refreshed = 1;
}

/* When the last of its threads has exited, and how; while one runs, it runs. */
static void end_into(const struct member *member, struct process *process)
{
	int is_told = 0;

	process->end_ns = member->kept.end_ns;
	process->status = member->kept.status;
	for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next) {
		const struct row *row = &hooks.rows[slot];

		if (row->state == ROW_LIVE) {
			process->end_ns = UNKNOWN;
			process->status = -1;
			return;
		}
		if (process->end_ns == UNKNOWN || row->end_ns > process->end_ns)
			process->end_ns = row->end_ns;
		is_told |= (int)row->by_group;
		if (row->by_group || (row->pid == row->process && !is_told))
			process->status = row->status;
	}
}

/* The process as it is now: what is kept of it, and its threads. */
static void current(const struct member *member, struct process *process)
{
	process_copy(process, &member->kept);
	end_into(member, process);
	for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next) {
		thread_into(slot, process);
		if (hooks.rows[slot].pid == hooks.rows[slot].process)
			name_into(&hooks.rows[slot], process);
	}
}

void gather_readings(uint64_t at_ns)
{
	for (struct member *member = s.members; member; member = member->next) {
		struct process now;

		if (!member->is_changed)
			continue;
		member->is_changed = 0;
		current(member, &now);
		split(&now, NULL);
		write_reading(at_ns, &now, member->has_read ? &member->read : NULL);
		process_free_calls(&member->read);
		member->read = now;
		member->has_read = 1;
	}
}

uint64_t gather_total(struct process *total)
{
	struct process unslotted;

	process_add(total, &s.total);
	for (struct member *member = s.members; member; member = member->next) {
		struct process now;

		current(member, &now);
		split(&now, NULL);
		add_costs(total, &now);
		process_free_calls(&now);
		for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next)
			add_calls(total, slot);
	}
	process_clear(&unslotted);
	costs_into(&hooks.rows[0], &unslotted);
	unslotted.figure[blocked_ns] = 0;
	split(&unslotted, NULL);
	calls_into(cells_of(0), s.unslotted, &unslotted);
	missed_into(0, &unslotted);
	process_add(total, &unslotted);
	process_free_calls(&unslotted);
	total->calls_known = has_calls();
	total->windows = s.window_count;
	total->windows_ns = s.windows_ns;
	return s.processes;
}

/* -- Windows -- */

static int is_idle(const uint64_t *cells, const uint64_t *folded)
{
	for (uint32_t cell = 1; cell < CELLS; cell++)
		if (cell_in(cells, cell)->count != (folded ? cell_in(folded, cell)->count : 0))
			return 0;
	return 1;
}

/* What a slot has gained, into the window's process, and its cells into what is folded: from one
 * copy of them, for they go on counting meanwhile. */
static void fold(uint32_t slot, uint64_t **folded, struct process *window)
{
	const uint64_t *cells = cells_of(slot);
	size_t          words = CELLS * hooks.cell_bytes / sizeof *cells;
	uint64_t       *copy;
	struct process  part;

	if (is_idle(cells, *folded))
		return;
	copy = malloc(words * sizeof *copy);
	if (!copy)
		no_memory();
	for (size_t i = 0; i < words; i++)
		copy[i] = __atomic_load_n(&cells[i], __ATOMIC_RELAXED);
	process_clear(&part);
	calls_into(copy, *folded, &part);
	free(*folded);
	*folded = copy;
	process_add(window, &part);
	process_free_calls(&part);
}

static uint64_t calls_of(const struct process *process)
{
	uint64_t count = 0;

	for (size_t i = 0; i < process->call_count; i++)
		count += process->calls[i].calls;
	return count;
}

/* One window of a process: counts, run time, and the sums of their squares and products. Without
 * the time that the counting itself took: so long it would have run for its own sake. */
static void conclude_window(struct process *window, double weight, double ran_ns, double hook_ns,
                            struct process *into)
{
	double own_ns = ran_ns - hook_ns > ran_ns / 4 ? ran_ns - hook_ns : ran_ns / 4;

	window->windows_active = ran_ns > 0;
	window->windows_run_ns = own_ns;
	window->windows_weighted_ns = weight * own_ns;
	window->windows_weighted_twice_ns = weight * weight * own_ns;
	window->windows_run_squares = window->windows_weighted_ns * window->windows_weighted_ns;
	window->windows_hook_ns = ran_ns - own_ns;
	for (size_t i = 0; i < window->call_count; i++) {
		struct call_type *call = &window->calls[i];

		call->in_windows = call->calls;
		call->errors_in_windows = call->errors;
		call->weighted = weight * (double)call->calls;
		call->weighted_errors = weight * (double)call->errors;
		call->squares = call->weighted * call->weighted;
		call->products = call->weighted * window->windows_weighted_ns;
	}
	process_add(into, window);
}

/* Calls that do something pay more for the hook than the one by which it is calibrated: reads,
 * writes and seeks of a file 1.1 to 1.65 times as much (monitor.md). The estimate's interval
 * allows for half of this. */
static double hook_price(void)
{
	return hooks.hook_ns == UNKNOWN ? 0 : 1.25 * (double)hooks.hook_ns;
}

void gather_window(uint64_t begin_ns, uint64_t end_ns, double weight)
{
	struct process all;
	uint64_t       all_ran_ns = 0;

	s.windows = list_grow(s.windows, s.window_count, &s.window_room, sizeof *s.windows);
	s.windows[s.window_count++] = (struct window){ begin_ns, end_ns - begin_ns };
	s.windows_ns += end_ns - begin_ns;
	adopt_new();
	process_clear(&all);
	for (struct member *member = s.members; member; member = member->next) {
		struct process window;
		uint64_t       ran_ns = 0;

		process_clear(&window);
		for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next) {
			uint64_t thread_ran_ns = hooks_ran_in_window(slot);

			/* Who did not run called nothing. */
			if (!thread_ran_ns)
				continue;
			ran_ns += thread_ran_ns;
			fold(slot, &s.threads[slot].folded, &window);
		}
		if (!ran_ns && !window.call_count)
			continue;
		all_ran_ns += ran_ns;
		process_add(&all, &window);
		conclude_window(&window, weight, (double)ran_ns,
		                (double)calls_of(&window) * hook_price(), &member->kept);
		process_free_calls(&window);
	}
	fold(0, &s.unslotted, &all);
	conclude_window(&all, weight, (double)all_ran_ns, (double)calls_of(&all) * hook_price(),
	                &s.total);
	process_free_calls(&all);
}

/* The sums of calls alone: all of them were counted. */
static void fold_all(void)
{
	for (struct member *member = s.members; member; member = member->next)
		for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next) {
			struct process gained;

			process_clear(&gained);
			fold(slot, &s.threads[slot].folded, &gained);
			process_add(&member->kept, &gained);
			process_add(&s.total, &gained);
			process_free_calls(&gained);
		}
	fold(0, &s.unslotted, &s.total);
}

void gather_fold(void)
{
	uint64_t now = boottime_ns();

	if (!has_calls() || s.order->detail == PROFILE || s.is_paused ||
	    now < s.folded_ns + FOLD_NS)
		return;
	s.folded_ns = now;
	fold_all();
}

void gather_pause(void)
{
	gather_refresh();
	s.pause++;
	for (uint32_t slot = 0; slot <= hooks_slots_highest(); slot++) {
		struct thread    *thread = &s.threads[slot];
		const struct row *row = &hooks.rows[slot];

		/* One that is not here yet came in the pause: at worst that is wrong by a
		 * moment. */
		if (slot && !thread->owner)
			continue;
		thread->pause = s.pause;
		thread->was_running = row->processor != 0;
		thread->run_ns = row->now.run_ns;
		thread->switches = switches_of(row);
	}
	s.paused_ns = boottime_ns();
	s.is_paused = 1;
	hooks_count(0);
	fold_all();
}

void gather_resume(void)
{
	uint64_t now;

	hooks_count(1);
	now = boottime_ns();
	gather_refresh();
	for (uint32_t slot = 0; slot <= hooks_slots_highest(); slot++) {
		struct thread *thread = &s.threads[slot];
		int            is_missed;
		uint64_t       missed_run_ns;

		if (slot && (!thread->owner || hooks.rows[slot].watched_ns >= now))
			continue;
		missed_in_pause(slot, &is_missed, &missed_run_ns);
		thread->is_missed |= is_missed;
		thread->missed_run_ns += missed_run_ns;
	}
	s.is_paused = 0;
}

void gather_stop_counting(void)
{
	s.stopped_ns = boottime_ns();
}

/* -- The end -- */

uint32_t gather_unfinished(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 1; slot <= hooks_slots_highest(); slot++) {
		const struct row *row = &hooks.rows[slot];

		/* A first thread may wait for its parent for ever; the others are on their way. */
		count += slot != hooks.calibrated && row->state == ROW_EXITED &&
		         (row->walk != hooks.walk || row->pid != row->process);
	}
	return count;
}

void gather_rest(void)
{
	adopt_new();
	while (s.members) {
		struct member *member = s.members;
		struct process last;

		current(member, &last);
		for (uint32_t slot = member->slots; slot; slot = s.threads[slot].next) {
			const struct row *row = &hooks.rows[slot];

			if (s.order->threads)
				write_thread(slot);
			member->child_count += row->children;
		}
		complete(&last, member);
		complete_command(&last);
		write_process(&last);
		process_free_calls(&last);
		forget(member);
	}
}
