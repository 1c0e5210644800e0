/* meters.c -- see meters.h. */
#include "follow/meters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/procfs.h"

enum { BUCKETS = 4096 };

struct meter *meters_first;

static struct {
	struct meter  *last, *table[BUCKETS];
	size_t         size, thread_size;
	int            write_threads;
	struct process ended;     /* all that have ended, as one */
	uint64_t       processes; /* that there were */
} s;

void meters_open(const struct order *order, size_t size, size_t thread_size)
{
	s.size = size;
	s.thread_size = thread_size;
	s.write_threads = order->threads;
	s.processes = 0;
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
		no_memory();
	return made;
}

struct meter *meter_add(pid_t pid, const struct meter *parent, uint64_t begin_ns)
{
	struct meter *process = make(s.size), **link = place_of(pid);

	process->chain = *link;
	*link = process;
	process_clear(&process->record);
	process_clear(&process->before);
	figures_forget(process->ended, ALL);
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

struct thread_meter *meter_add_thread(struct meter *process, pid_t thread, uint64_t begin_ns)
{
	struct thread_meter *made = make(s.thread_size);

	process_clear(&made->record);
	figures_forget(made->first, ALL);
	figures_forget(made->last, ALL);
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

/* The program that it runs, from its beginning on: name, threads and memory. */
static void begin_program(struct meter *process, int directory)
{
	if (procfs_program(directory, process->record.program))
		snprintf(process->record.program, sizeof process->record.program, "?");
	figures_begin(process->record.figure);
	if (directory >= 0)
		close(directory);
}

void meter_begin(struct meter *process, uint64_t now, int is_new)
{
	struct procfs_stat stat;
	int                directory = procfs_open(process->record.pid, 0);

	s.processes++;
	process->has_begun = 1;
	process->record.watched_ns = is_new ? process->record.begin_ns : now;
	memset(process->first, 0, sizeof process->first);
	if (!is_new)
		procfs_totals(process->record.pid, directory, &stat, process->first);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_begin_thread(thread, now, is_new);
	begin_program(process, directory);
}

void meter_exec(struct meter *process)
{
	memcpy(process->record.program_before, process->record.program,
	       sizeof process->record.program);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_read_thread(thread);
	for (int i = 0; i < FIGURES; i++) /* that was another program's memory */
		if (figures[i].kind & LEVELS)
			process->record.at_least &= ~(UINT32_C(1) << i);
	begin_program(process, procfs_open(process->record.pid, 0));
}

int meter_read_thread(struct thread_meter *thread)
{
	struct procfs_status status;
	struct procfs_stat   stat;
	int                  directory = procfs_open(thread->process->record.pid, thread->thread);

	if (directory < 0)
		return -1;
	figures_forget(thread->last, LEVELS); /* a zombie has no memory, and says nothing of what it
	                                         had */
	if (procfs_schedstat(directory, thread->last) |
	    procfs_status(directory, &status, thread->last)) {
		close(directory);
		return -1;
	}
	/* Those of a program that may not be dumped are for those alone who may trace it: after an
	 * exec, or setuid(2), the last ones that we saw remain. */
	thread->has_old_io = procfs_io(directory, thread->last) && thread->last[reads] != UNKNOWN;
	figures_take(thread->process->record.figure, thread->last, END | PEAK);
	if (s.write_threads) {
		procfs_program(directory, thread->record.program);
		procfs_stat(directory, &stat, thread->last);
	}
	close(directory);
	return 0;
}

/* What a thread has cost since it is watched, into its record. */
static void reckon_thread(struct thread_meter *thread, uint64_t now)
{
	uint64_t *figure = thread->record.figure, since[FIGURES];
	uint64_t  life = now - thread->record.watched_ns, busy;

	memcpy(since, thread->last, sizeof since);
	figures_subtract(since, thread->first, SUMS);
	figures_split_time(since);
	figures_take(figure, since, SUMS);
	if (thread->last[switches_voluntary] != UNKNOWN)
		figure[switches_voluntary] -= figure[switches_voluntary] < thread->our_switches
		                                      ? figure[switches_voluntary]
		                                      : thread->our_switches;
	if (figure[run_ns] == UNKNOWN)
		return;
	busy = figure[run_ns] + figure[wait_ns];
	figure[blocked_ns] = life > busy ? life - busy : 0;
}

void meter_hide(struct meter *process)
{
	if (!process->is_hidden)
		lost[LOST_FROM_SIGHT]++;
	process->is_hidden = 1;
	process->record.is_missed = 1;
	process_cut_short(&process->record, ALL);
}

void meter_age(struct meter *process, uint64_t now)
{
	figures_forget(process->record.figure, THREADS);
	figures_add(process->record.figure, process->ended, THREADS);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next) {
		reckon_thread(thread, now);
		figures_add(process->record.figure, thread->record.figure, THREADS);
	}
}

int meter_read(struct meter *process, uint64_t now)
{
	struct procfs_stat stat;
	uint64_t           total[FIGURES], *figure = process->record.figure;
	int                directory = procfs_open(process->record.pid, 0);

	if (directory < 0)
		return -1;
	figures_forget(total, ALL);
	if (procfs_totals(process->record.pid, directory, &stat, total)) {
		close(directory);
		return -1;
	}
	procfs_program(directory, process->record.program);
	close(directory);
	figures_subtract(total, process->first, TOTAL);
	figures_split_time(total);
	figures_take(figure, total, TOTAL);
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		meter_read_thread(thread);
	meter_age(process, now);
	return 0;
}

void meter_write_reading(struct meter *process, uint64_t now)
{
	if (!process->has_begun || process->is_unfollowed)
		return;
	write_reading(now, &process->record, process->was_read ? &process->before : NULL);
	process->was_read = 1;
	process_free_calls(&process->before);
	process_copy(&process->before, &process->record);
}

void meter_end_thread(struct thread_meter *thread, uint64_t end_ns, int status)
{
	struct meter         *process = thread->process;
	struct thread_meter **link = &process->threads;

	reckon_thread(thread, end_ns == UNKNOWN ? boottime_ns() : end_ns);
	figures_add(process->ended, thread->record.figure, THREADS);
	process->ended_has_old_io |= thread->has_old_io;
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
	for (int i = reads; process->ended_has_old_io && i <= bytes_cancelled; i++)
		process->record.at_least |= UINT32_C(1) << i;
	process->record.end_ns = end_ns;
	process->record.status = status;
	if (process->has_begun && !process->is_unfollowed) {
		write_process(&process->record);
		process_add(&s.ended, &process->record);
	}
	unlink_process(process);
	process_free_calls(&process->record);
	process_free_calls(&process->before);
	free(process);
}

uint64_t meters_total(struct process *total)
{
	uint64_t now = boottime_ns();

	process_add(total, &s.ended);
	for (struct meter *process = meters_first; process; process = process->next) {
		if (!process->has_begun || process->is_unfollowed)
			continue;
		meter_read(process, now);
		process_add(total, &process->record);
	}
	figures_forget(total->figure, LEVELS);
	return s.processes;
}
