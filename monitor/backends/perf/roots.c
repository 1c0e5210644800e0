/* roots.c -- see perf.h: the counters of the threads from which others inherit them, and their
 * rings. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel/processors.h"
#include "perf.h"

/* Pages of a processor's births, programs and deaths, and of all of these rings, at most. */
enum { TASK_PAGES = 64, ALL_TASK_PAGES = 8192 };

struct perf perf = { .exits = { .file = -1, .asking = -1 } };

static int processor[PROCESSORS_MOST], first_task_file[PROCESSORS_MOST];

static int fail(const char *what)
{
	perf.failed = what;
	return -1;
}

static int map(int file, size_t pages, struct ring *ring)
{
	if (ring_map(file, pages, ring))
		return -1;
	perf.account.maps_bytes += ring->size + (size_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* A counter of a thread and of all that it will make, with its own ring. The first leads the
 * group. */
static int open_kind(struct root *root, size_t kind, int is_held)
{
	const struct kind *what = &kinds.list[kind];
	struct opening     counter = {
		.type = what->type,
		.config = what->config,
		.thread = root->thread,
		.processor = -1,
		.group = kind ? root->file[0] : -1,
		.inherited = 1,
		.reported = 1,
		.off = kind == 0,
		.on_exec = kind == 0 && is_held,
	};
	struct opening idle = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.thread = root->thread,
		.processor = -1,
		.group = -1,
		.off = 1,
	};
	int ring_file, answer = 0;

	root->file[kind] = counter_open(&counter);
	if (root->file[kind] < 0)
		return fail("perf_event_open");
	if (what->filter && ioctl(root->file[kind], PERF_EVENT_IOC_SET_FILTER, what->filter))
		return fail("a filter for a tracepoint");
	ring_file = counter_open(&idle);
	if (ring_file < 0)
		return fail("perf_event_open");
	if (map(ring_file, perf.pages, &root->ring[kind]))
		answer = fail("a ring of perf");
	else if (ioctl(root->file[kind], PERF_EVENT_IOC_SET_OUTPUT, ring_file))
		answer = fail("PERF_EVENT_IOC_SET_OUTPUT");
	close(ring_file); /* the mapping keeps it */
	return answer;
}

/* Births, execs and deaths: the kernel tells each processor's own counter, so a ring a processor
 * will do. */
static int open_tasks(struct root *root)
{
	size_t pages = TASK_PAGES;

	while (pages > 1 && pages * perf.processors > ALL_TASK_PAGES)
		pages /= 2;
	root->task_file = malloc(perf.processors * sizeof *root->task_file);
	if (!root->task_file)
		no_memory();
	for (size_t i = 0; i < perf.processors; i++)
		root->task_file[i] = -1;
	for (size_t i = 0; i < perf.processors; i++) {
		struct opening opening = {
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_DUMMY,
			.thread = root->thread,
			.processor = processor[i],
			.group = -1,
			.inherited = 1,
			.tasks = 1,
		};

		root->task_file[i] = counter_open(&opening);
		if (root->task_file[i] < 0)
			return fail("perf_event_open");
		if (!perf.tasks[i].page) {
			if (map(root->task_file[i], pages, &perf.tasks[i]))
				return fail("a ring of perf");
			first_task_file[i] = root->task_file[i];
		} else if (ioctl(root->task_file[i], PERF_EVENT_IOC_SET_OUTPUT,
		                 first_task_file[i])) {
			return fail("PERF_EVENT_IOC_SET_OUTPUT");
		}
	}
	return 0;
}

void root_close(struct root *root)
{
	for (size_t i = 0; i < kinds.count; i++) {
		if (root->file[i] >= 0)
			close(root->file[i]);
		root->file[i] = -1;
		ring_unmap(&root->ring[i]);
	}
	for (size_t i = 0; root->task_file && i < perf.processors; i++)
		if (root->task_file[i] >= 0)
			close(root->task_file[i]);
	free(root->task_file);
	root->task_file = NULL;
}

void roots_close(void)
{
	for (size_t i = 0; i < perf.roots; i++)
		root_close(&perf.root[i]);
	perf.roots = 0;
	for (size_t i = 0; i < perf.processors; i++)
		ring_unmap(&perf.tasks[i]);
}

int root_open(struct origin *origin, pid_t thread, int is_held)
{
	struct root *root;

	perf.root = list_grow(perf.root, perf.roots, &perf.roots_room, sizeof *perf.root);
	root = &perf.root[perf.roots++];
	memset(root, 0, sizeof *root);
	root->origin = origin;
	root->thread = thread;
	root->opened_ns = boottime_ns();
	for (size_t i = 0; i < KINDS_MOST; i++)
		root->file[i] = -1;
	if (open_tasks(root))
		return -1;
	for (size_t i = 0; i < kinds.count; i++)
		if (open_kind(root, i, is_held))
			return -1;
	if (!is_held && ioctl(root->file[0], PERF_EVENT_IOC_ENABLE, 0))
		return fail("PERF_EVENT_IOC_ENABLE");
	return 0;
}

struct root *root_of(pid_t thread)
{
	for (size_t i = 0; i < perf.roots; i++)
		if (perf.root[i].thread == thread && perf.root[i].file[0] >= 0)
			return &perf.root[i];
	return NULL;
}

void root_read(const struct root *root, uint64_t counts[KINDS_MOST])
{
	for (size_t i = 0; i < kinds.count; i++) {
		uint64_t value;

		if (root->file[i] >= 0 &&
		    read(root->file[i], &value, sizeof value) == (ssize_t)sizeof value)
			counts[i] += value;
	}
}

/* Whether the kernel knows a processor of that number: what names them may be another machine's
 * view, as a container's is. */
static int is_known(int number)
{
	struct opening opening = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.processor = number,
		.group = -1,
		.off = 1,
	};
	int file = counter_open(&opening);

	if (file >= 0)
		close(file);
	return file >= 0 || (errno != EINVAL && errno != ENODEV);
}

int roots_find_processors(char *why, size_t why_room)
{
	static int number[PROCESSOR_NUMBERS];
	size_t     count = processors_on(number, PROCESSOR_NUMBERS);

	perf.processors = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_known(number[i]))
			continue;
		if (perf.processors == PROCESSORS_MOST) {
			snprintf(
				why, why_room,
				"births and ends are heard on at most %d processors, and this machine "
				"has more",
				PROCESSORS_MOST);
			return -1;
		}
		processor[perf.processors++] = number[i];
	}
	if (perf.processors)
		return 0;
	snprintf(why, why_room, "%s", processors_unknown);
	return -1;
}

uint64_t roots_unheard(void)
{
	static int number[PROCESSOR_NUMBERS];
	size_t     count = processors_on(number, PROCESSOR_NUMBERS), heard = 0;
	uint64_t   unheard = 0;

	for (size_t i = 0; i < count; i++) {
		while (heard < perf.processors && processor[heard] < number[i])
			heard++;
		unheard += (heard == perf.processors || processor[heard] != number[i]) &&
		           is_known(number[i]);
	}
	return unheard;
}
