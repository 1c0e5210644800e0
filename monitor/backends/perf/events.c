/* events.c -- see perf.h: births, execs and ends of the watched, from the rings of all processors,
 * in order of time. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/clocks.h"
#include "perf.h"

struct event {
	uint64_t at_ns;
	uint32_t type, misc;
	pid_t    pid, parent, thread, parent_thread;
	char     name[16];
};

static struct {
	struct event *list;
	size_t        count, room;
	int           has_lost;     /* records: that none has come says nothing from then on */
	int64_t       suspended_ns; /* of CLOCK_BOOTTIME, to the clock of the rings */
} s;

static uint64_t last_word(const union raw *raw)
{
	size_t words = raw->header.size / 8, most = sizeof raw->words / sizeof *raw->words;

	return raw->words[(words < most ? words : most) - 1];
}

static void keep_event(const union raw *raw)
{
	struct event event = { .type = raw->header.type, .misc = raw->header.misc };
	uint64_t     mono_ns = raw->task.at_ns;

	if (event.type == PERF_RECORD_LOST) {
		lost[LOST_EVENTS] += raw->lost.lost;
		s.has_lost = 1;
		return;
	}
	if (event.type == PERF_RECORD_COMM) {
		/* pid, thread, the name in whole words, then the identity that every record has:
		 * pid, thread, time */
		const char *name = (const char *)(raw->words + 2);

		event.pid = (pid_t)raw->task.pid;
		event.thread = (pid_t)raw->task.parent;
		snprintf(event.name, sizeof event.name, "%.15s", name);
		mono_ns = last_word(raw);
	} else if (event.type == PERF_RECORD_MMAP) {
		event.pid = (pid_t)raw->task.pid;
		mono_ns = last_word(raw);
	} else if (event.type == PERF_RECORD_FORK || event.type == PERF_RECORD_EXIT) {
		event.pid = (pid_t)raw->task.pid;
		event.parent = (pid_t)raw->task.parent;
		event.thread = (pid_t)raw->task.thread;
		event.parent_thread = (pid_t)raw->task.parent_thread;
	} else {
		return;
	}
	event.at_ns = mono_ns + (uint64_t)s.suspended_ns;
	s.list = list_grow(s.list, s.count, &s.room, sizeof *s.list);
	s.list[s.count++] = event;
}

static int by_time(const void *one, const void *other)
{
	uint64_t a = ((const struct event *)one)->at_ns, b = ((const struct event *)other)->at_ns;

	return a < b ? -1 : a > b;
}

static struct relative *ours(pid_t pid, uint64_t at_ns)
{
	struct relative *one = relative(family_find(pid));

	return one && one->member.process.attached && at_ns < one->member.process.watched_ns ? NULL
	                                                                                     : one;
}

/* Of those that were found in /proc while we attached, some had been made by one with counters
 * already: they have inherited what they need, and what we opened for them too would count
 * twice. */
static void close_what_is_double(const struct event *event)
{
	struct root *root = root_of(event->thread);

	if (root && root->origin->pid == event->pid && event->at_ns <= root->opened_ns)
		root_close(root);
}

/* Counters are opened one after another: what is born meanwhile has inherited some of them. */
static void inherit(struct relative *one, const struct relative *parent, uint64_t at_ns)
{
	one->origin = parent->origin;
	one->origin->open++;
	one->is_partial = parent->is_partial || at_ns <= perf.attached_ns;
}

/* One that was attached was born under our eyes: all that it costs is its own. */
static void adopt(struct relative *one, const struct relative *parent, uint64_t at_ns)
{
	struct process *process = &one->member.process;

	for (size_t i = 0; i < perf.roots; i++)
		if (perf.root[i].origin == one->origin)
			root_close(&perf.root[i]);
	if (is_origin(one))
		one->origin->member = NULL;
	process->attached = 0;
	process->begin_ns = process->watched_ns = at_ns;
	figures_forget(process->figure, BEGIN);
	memset(one->member.base, 0, sizeof one->member.base);
	memset(one->member.first, 0, sizeof one->member.first);
	inherit(one, parent, at_ns);
}

static void take_fork(const struct event *event)
{
	struct relative *parent = relative(family_find(event->parent)), *one;

	close_what_is_double(event);
	if (event->pid == event->parent) {
		one = ours(event->pid, event->at_ns);
		if (one) {
			one->member.running++;
			one->member.process.threads++;
			if (event->at_ns <= perf.attached_ns && is_origin(one))
				one->origin->is_torn = 1;
		}
		return;
	}
	if (!parent)
		return;
	one = relative(family_find(event->pid));
	if (one && one->member.process.attached && event->at_ns <= one->member.process.watched_ns)
		adopt(one, parent, event->at_ns);
	else
		inherit(relative(family_fork(event->parent, event->pid, event->at_ns)), parent,
		        event->at_ns);
}

static void take_name(const struct event *event)
{
	struct member *member = family_find(event->pid);
	int            by_exec = (event->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;

	if (!member || (!by_exec && event->thread != event->pid))
		return;
	if (by_exec && event->pid == perf.command && perf.command_runs) {
		perf.command_runs = 0;
		member->process.watched_ns = event->at_ns;
		by_exec = 0;
	}
	family_program(member, event->name, by_exec);
	if (event->misc & PERF_RECORD_MISC_COMM_EXEC)
		relative(member)->is_starting = 1;
}

/* A new program has taken its name and maps its code next. Where it ends in between, that is no
 * end: the kernel takes the events away from a process that executes a program that changes rights
 * or may not be read (begin_new_exec: perf_event_exit_task unless the new memory may be dumped),
 * whoever watches. */
static void take_end(struct relative *one, uint64_t at_ns)
{
	if (one->is_starting && !s.has_lost)
		unseen_begin(one);
	else
		family_thread_ends(&one->member, at_ns);
}

static void take_event(const struct event *event)
{
	struct relative *one;

	switch (event->type) {
	case PERF_RECORD_FORK:
		take_fork(event);
		break;
	case PERF_RECORD_COMM:
		take_name(event);
		break;
	case PERF_RECORD_MMAP:
		one = relative(family_find(event->pid));
		if (one)
			one->is_starting = 0;
		break;
	default:
		one = ours(event->pid, event->at_ns);
		if (one && !one->is_unseen)
			take_end(one, event->at_ns);
	}
}

void events_take(uint64_t until_ns)
{
	union raw raw;
	size_t    taken = 0;

	s.suspended_ns = clocks_suspended_ns();
	for (size_t i = 0; i < perf.processors; i++)
		while (perf.tasks[i].page && ring_next(&perf.tasks[i], &raw))
			keep_event(&raw);
	if (s.count)
		qsort(s.list, s.count, sizeof *s.list, by_time);
	while (taken < s.count && s.list[taken].at_ns <= until_ns)
		take_event(&s.list[taken++]);
	if (taken)
		memmove(s.list, s.list + taken, (s.count - taken) * sizeof *s.list);
	s.count -= taken;
}
