/* meters.c -- see meters.h. */
#include "follow/meters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_LEVEL = virtual_begin /* figures.def has the levels last */, BUCKETS = 4096 };

struct meter *meters_first;

static struct {
	struct meter   *last, *table[BUCKETS];
	int            write_threads;
	struct process ended;     /* all that have ended, as one */
	uint64_t       processes; /* that there were */
} s;

void meters_open(const struct order *order)
{
	s.write_threads = order->threads;
	process_clear(&s.ended);
}

static struct meter **place_of(pid_t pid)
{
	struct meter **link = &s.table[(unsigned)pid % BUCKETS];

	while (*link && (*link)->record.pid != pid)
		link = &(*link)->chain;
	return link;
}

struct meter *meter_find(pid_t pid)
{
	return *place_of(pid);
}

static void *make(size_t size)
{
	void *made = calloc(1, size);

	if (!made)
		abort();
	return made;
}

static void forget_figures(uint64_t figure[FIGURES])
{
	for (int i = 0; i < FIGURES; i++)
		figure[i] = UNKNOWN;
}

/* What came to it between the two; the kernel's sums are not all taken at one instant. */
static uint64_t grown(uint64_t last, uint64_t first)
{
	if (last == UNKNOWN || first == UNKNOWN)
		return last;
	return last > first ? last - first : 0;
}

static void add(uint64_t *sum, uint64_t part)
{
	if (part != UNKNOWN)
		*sum = *sum == UNKNOWN ? part : *sum + part;
}

struct meter *meter_add(pid_t pid, const struct meter *parent, uint64_t begin_ns)
{
	struct meter *process = make(sizeof *process), **link = place_of(pid);

	process->chain = *link;
	*link = process;
	process_clear(&process->record);
	process_clear(&process->before);
	forget_figures(process->ended);
	process->directory = -1;
	process->record.pid = pid;
	process->record.begin_ns = begin_ns;
	process->record.threads = 0;
	process->record.children = 0;
	if (parent) {
		process->record.parent = parent->record.pid;
		process->record.generation = parent->record.generation + 1;
	}
	process->previous = s.last;
	if (s.last)
		s.last->next = process;
	else
		meters_first = process;
	s.last = process;
	return process;
}

struct thread_meter *meter_add_thread(struct meter *process, pid_t thread, uint64_t begin_ns, size_t size)
{
	struct thread_meter *made = make(size);

	process_clear(&made->record);
	forget_figures(made->first);
	forget_figures(made->last);
	made->process = process;
	made->thread = thread;
	made->record.pid = process->record.pid;
	made->record.thread = thread;
	made->record.begin_ns = begin_ns;
	made->next = process->threads;
	process->threads = made;
	process->record.threads++;
	return made;
}

void meter_begin_thread(struct thread_meter *thread, uint64_t now, int is_new)
{
	thread->record.watched_ns = is_new ? thread->record.begin_ns : now;
	thread->record.attached = !is_new;
	meter_read_thread(thread);
	if (is_new) {
		memset(thread->first, 0, sizeof thread->first);
		return;
	}
	memcpy(thread->first, thread->last, sizeof thread->first);
	thread->our_switches = 0;
}

static void take_levels(struct meter *process, const uint64_t last[FIGURES])
{
	if (last[virtual_end] == UNKNOWN)
		return;
	for (int i = FIRST_LEVEL; i < FIGURES; i++)
		if (i != virtual_begin && i != memory_begin)
			process->record.figure[i] = last[i];
}

static void begin_levels(struct meter *process)
{
	process->record.figure[virtual_begin] = process->record.figure[virtual_end];
	process->record.figure[memory_begin] = process->record.figure[memory_end];
}

void meter_begin(struct meter *process, uint64_t now, int is_new)
{
	struct procfs_stat stat;
	int                directory = procfs_open(process->record.pid, 0);

	s.processes++;
	process->has_begun = 1;
	process->record.watched_ns = is_new ? process->record.begin_ns : now;
	memset(&process->first_clocks, 0, sizeof process->first_clocks);
	process->first_faults_minor = process->first_faults_major = 0;
	procfs_program(directory, process->record.program);
	if (!is_new) {
		procfs_clocks(process->record.pid, &process->first_clocks);
		if (!procfs_stat(directory, &stat)) {
			process->first_faults_minor = stat.faults_minor;
			process->first_faults_major = stat.faults_major;
		}
	}
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_begin_thread(thread, now, is_new);
	begin_levels(process);
	if (directory >= 0)
		close(directory);
}

void meter_exec(struct meter *process)
{
	int directory = procfs_open(process->record.pid, 0);

	memcpy(process->record.program_before, process->record.program, sizeof process->record.program);
	procfs_program(directory, process->record.program);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_read_thread(thread);
	begin_levels(process);
	if (directory >= 0)
		close(directory);
}

int meter_read_thread(struct thread_meter *thread)
{
	pid_t                pid = thread->process->record.pid;
	struct procfs_status status;
	struct procfs_stat   stat;
	int                  directory = procfs_open(pid, thread->thread);

	if (directory < 0)
		return -1;
	for (int i = FIRST_LEVEL; i < FIGURES; i++)
		thread->last[i] = UNKNOWN; /* a zombie has no memory, and says nothing of what it had */
	if (procfs_schedstat(directory, thread->last) | procfs_status(directory, &status, thread->last)) {
		close(directory);
		return -1;
	}
	procfs_io(directory, thread->last);
	take_levels(thread->process, thread->last);
	if (s.write_threads) {
		procfs_program(directory, thread->record.program);
		if (!procfs_stat(directory, &stat)) {
			thread->last[cpu_user_ns] = stat.user_ns;
			thread->last[cpu_system_ns] = stat.system_ns;
			thread->last[faults_minor] = stat.faults_minor;
			thread->last[faults_major] = stat.faults_major;
		}
	}
	close(directory);
	return 0;
}

/* What a thread has cost since it is watched, into its record. */
static void reckon_thread(struct thread_meter *thread, uint64_t now)
{
	uint64_t *figure = thread->record.figure;
	uint64_t  life = now - thread->record.watched_ns, busy;

	for (int i = 0; i < FIRST_LEVEL; i++)
		if (i != signals)
			figure[i] = grown(thread->last[i], thread->first[i]);
	figure[switches_voluntary] = grown(figure[switches_voluntary], thread->our_switches);
	if (thread->last[run_ns] == UNKNOWN)
		return;
	busy = figure[run_ns] + figure[wait_ns];
	figure[blocked_ns] = life > busy ? life - busy : 0;
	if (figure[cpu_user_ns] != UNKNOWN)
		cputime_split(figure[run_ns], figure[cpu_user_ns], figure[cpu_system_ns], &figure[cpu_user_ns],
		              &figure[cpu_system_ns]);
}

/* The figures that only the threads have. */
static const enum figure of_threads[] = {
	wait_ns, blocked_ns, switches_voluntary, switches_involuntary, signals,
	reads, characters_read, writes, characters_written, bytes_read, bytes_written, bytes_cancelled,
};

static void add_of_threads(uint64_t sum[FIGURES], const uint64_t part[FIGURES])
{
	for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++)
		add(&sum[of_threads[i]], part[of_threads[i]]);
}

static void reckon_process(struct meter *process, uint64_t now)
{
	uint64_t sum[FIGURES];

	memcpy(sum, process->ended, sizeof sum);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next) {
		reckon_thread(thread, now);
		add_of_threads(sum, thread->record.figure);
	}
	for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++)
		process->record.figure[of_threads[i]] = sum[of_threads[i]];
}

static void reckon_clocks(struct meter *process, const struct procfs_clocks *clocks)
{
	uint64_t *figure = process->record.figure;

	figure[run_ns] = grown(clocks->run_ns, process->first_clocks.run_ns);
	cputime_split(figure[run_ns], grown(clocks->user_ticks_ns, process->first_clocks.user_ticks_ns),
	              grown(clocks->system_ticks_ns, process->first_clocks.system_ticks_ns),
	              &figure[cpu_user_ns], &figure[cpu_system_ns]);
}

int meter_read(struct meter *process, uint64_t now)
{
	struct procfs_clocks clocks;
	struct procfs_stat   stat;
	int                  directory = procfs_open(process->record.pid, 0);

	/* The directory was opened before the clocks are read by number: what is read of it afterwards shows
	 * that the number was this process's until then. */
	if (directory < 0)
		return -1;
	if (procfs_clocks(process->record.pid, &clocks) || procfs_stat(directory, &stat)) {
		close(directory);
		return -1;
	}
	procfs_program(directory, process->record.program);
	close(directory);
	reckon_clocks(process, &clocks);
	process->record.figure[faults_minor] = grown(stat.faults_minor, process->first_faults_minor);
	process->record.figure[faults_major] = grown(stat.faults_major, process->first_faults_major);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_read_thread(thread);
	reckon_process(process, now);
	return 0;
}

/* A copy for comparison: numbers of calls alone. */
static void remember(struct meter *process)
{
	struct process *before = &process->before;

	process_free_calls(before);
	memcpy(before->figure, process->record.figure, sizeof before->figure);
	for (size_t i = 0; i < process->record.call_count; i++) {
		const struct call_type *call = &process->record.calls[i];
		struct call_type  *copy = process_call(before, call->abi, call->number);

		copy->calls = call->calls;
		copy->errors = call->errors;
	}
}

void meter_write_reading(struct meter *process, uint64_t now)
{
	if (!process->has_begun || process->is_unfollowed)
		return;
	write_reading(now, &process->record, process->was_read ? &process->before : NULL);
	process->was_read = 1;
	remember(process);
}

void meter_end_thread(struct thread_meter *thread, uint64_t end_ns, int status)
{
	struct meter         *process = thread->process;
	struct thread_meter **link = &process->threads;

	reckon_thread(thread, end_ns == UNKNOWN ? now_ns() : end_ns);
	add_of_threads(process->ended, thread->record.figure);
	if (s.write_threads && process->has_begun && !process->is_unfollowed) {
		thread->record.parent = process->record.parent;
		thread->record.generation = process->record.generation;
		thread->record.end_ns = end_ns;
		thread->record.status = status;
		write_process(&thread->record);
	}
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	process_free_calls(&thread->record);
	free(thread);
}

static void unlink_process(struct meter *process)
{
	struct meter **link = place_of(process->record.pid);

	while (*link != process)
		link = &(*link)->chain;
	*link = process->chain;
	if (process->previous)
		process->previous->next = process->next;
	else
		meters_first = process->next;
	if (process->next)
		process->next->previous = process->previous;
	else
		s.last = process->previous;
}

void meter_end(struct meter *process, uint64_t end_ns, int status)
{
	while (process->threads)
		meter_end_thread(process->threads, end_ns, status);
	process->record.end_ns = end_ns;
	process->record.status = status;
	if (process->has_begun && !process->is_unfollowed) {
		write_process(&process->record);
		process_add(&s.ended, &process->record);
	}
	unlink_process(process);
	if (process->directory >= 0)
		close(process->directory);
	process_free_calls(&process->record);
	process_free_calls(&process->before);
	free(process);
}

uint64_t meters_total(struct process *total)
{
	uint64_t now = now_ns();

	process_add(total, &s.ended);
	for (struct meter *process = meters_first; process; process = process->next) {
		if (!process->has_begun || process->is_unfollowed)
			continue;
		meter_read(process, now);
		process_add(total, &process->record);
	}
	for (int i = FIRST_LEVEL; i < FIGURES; i++)
		total->figure[i] = UNKNOWN;
	return s.processes;
}
