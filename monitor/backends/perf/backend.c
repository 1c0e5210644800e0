/* perf.c -- counters of perf_event_open, inherited by whatever the watched processes make.
 *
 * A counter that is inherited has one sum for a whole tree. But with inherit_stat the kernel writes what each
 * task had counted into the counter's ring at that task's end (PERF_RECORD_READ); the sum less all of those is
 * what the first task had. So each process's share is exact, once it and its descendants have ended.
 *
 * Each counter has a ring of its own, that of a counter which itself is off: the kernel writes records of READ
 * from whatever processor, and what keeps two from writing at once is the counter's own lock. In a ring that
 * several counters share they would overwrite each other. That first task's counter is never exchanged with
 * a child's at a context switch, as the kernel does with equal sets of counters: the counter of the ring is not
 * inherited, so the sets are not equal.
 *
 * Needs    perf_event_paranoid of 2 or less for processor time alone; CAP_PERFMON, or 1 or less, for the rest;
 *          a kernel whose READ records work: before Linux 5.13 they were written without that lock, and from
 *          then on not at all, until commit c418d8b4d7a4 (6.19, and the stable ones since December 2025).
 * Costs    each counter, at each context switch and birth of a watched task; at CALLS, a tracepoint at each
 *          system call, with a filter for its errors. By-standers pay for the tracepoint being there.
 * Loses    records for which a ring has no room: in lost_events; a process whose counts were in them says
 *          nothing of itself.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "kernel/exits.h"
#include "kernel/snapshot.h"
#include "monitor.h"
#include "kinds.h"
#include "rings.h"
#include "follow/family.h"

enum { PROCESSORS_MOST = 1024, THREADS_MOST = 4096, WHY = 256 };
/* Pages of a ring, at most: of a counter (170 ended tasks a page) and of a processor's births and deaths. */
enum { COUNTER_PAGES = 4, TASK_PAGES = 16, ALL_PAGES = 8192 };
static const uint64_t PACE_NS = 50000000; /* between looks at the rings */
static const uint64_t SWEEP_NS = 1000000000;
/* A record may be seen this long after the time that it bears. */
static const uint64_t LATE_NS = 1000000;

/* A thread that ran when the watch began, or the command's: what it makes inherits its counters. */
struct root {
	struct origin *origin;
	pid_t          thread;
	uint64_t       opened_ns;
	int            file[KINDS_MOST];
	struct ring    ring[KINDS_MOST];
	int           *task_file; /* one a processor */
};

/* The process of roots. */
struct origin {
	pid_t          pid;
	struct member *member;      /* NULL: its record is written */
	uint64_t       open;        /* processes that descend from it and have no record yet */
	uint64_t       outside[KINDS_MOST]; /* what those counted that have ended */
	int            is_torn;     /* something is missing in that */
};

struct read_record {
	struct origin *origin;
	size_t         kind;
	pid_t          pid;
	uint64_t       value, seen_ns;
};

struct task_record {
	uint64_t at_ns;
	uint32_t type, misc;
	pid_t    pid, parent, thread, parent_thread;
	char     name[16];
};

static struct {
	struct root    *root;
	size_t          roots, roots_room;
	struct origin **origin;
	size_t          origins;
	struct ring     tasks[PROCESSORS_MOST];
	int             first_task_file[PROCESSORS_MOST];
	int             processor[PROCESSORS_MOST];
	size_t          processors;
	struct read_record *reads;
	size_t          read_count, read_room;
	struct task_record *events;
	size_t          event_count, event_room;
	struct exits    exits;
	struct account  account;
	uint64_t        boot_offset_ns, swept_ns;
	uint64_t        ended;        /* processes */
	uint64_t        attached_ns;  /* when all counters were there; 0: from the first moment */
	size_t          pages;        /* of a counter's ring */
	pid_t           command;
	int             command_runs; /* its own program, not yet ours */
	const char     *failed;       /* what could not be opened */
} s = { .exits = { .file = -1, .asking = -1 } };

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	list = realloc(list, *room * size);
	if (!list)
		abort();
	return list;
}

/* Opening. */

static int fail(const char *what)
{
	s.failed = what;
	return -1;
}

static int map(int file, size_t pages, struct ring *ring)
{
	if (ring_map(file, pages, ring))
		return -1;
	s.account.maps_bytes += ring->size + (size_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* A counter of a thread and of all that it will make, with its own ring. The first leads the group. */
static int open_kind(struct root *root, size_t kind, int is_held)
{
	const struct kind *what = &kinds.list[kind];
	struct opening     counter = {
		.type = what->type, .config = what->config, .thread = root->thread, .processor = -1,
		.group = kind ? root->file[0] : -1, .inherited = 1, .reported = 1, .off = kind == 0,
		.on_exec = kind == 0 && is_held,
	};
	struct opening idle = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .thread = root->thread, .processor = -1,
		.group = -1, .off = 1,
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
	if (map(ring_file, s.pages, &root->ring[kind]))
		answer = fail("a ring of perf");
	else if (ioctl(root->file[kind], PERF_EVENT_IOC_SET_OUTPUT, ring_file))
		answer = fail("PERF_EVENT_IOC_SET_OUTPUT");
	close(ring_file); /* the mapping keeps it */
	return answer;
}

/* Births, execs and deaths: the kernel tells each processor's own counter, so a ring a processor will do. */
static int open_tasks(struct root *root)
{
	root->task_file = malloc(s.processors * sizeof *root->task_file);
	if (!root->task_file)
		abort();
	for (size_t i = 0; i < s.processors; i++)
		root->task_file[i] = -1;
	for (size_t i = 0; i < s.processors; i++) {
		struct opening opening = {
			.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .thread = root->thread,
			.processor = s.processor[i], .group = -1, .inherited = 1, .tasks = 1,
		};

		root->task_file[i] = counter_open(&opening);
		if (root->task_file[i] < 0)
			return fail("perf_event_open");
		if (!s.tasks[i].page) {
			if (map(root->task_file[i], TASK_PAGES, &s.tasks[i]))
				return fail("a ring of perf");
			s.first_task_file[i] = root->task_file[i];
		} else if (ioctl(root->task_file[i], PERF_EVENT_IOC_SET_OUTPUT, s.first_task_file[i])) {
			return fail("PERF_EVENT_IOC_SET_OUTPUT");
		}
	}
	return 0;
}

static void close_root(struct root *root)
{
	for (size_t i = 0; i < kinds.count; i++) {
		if (root->file[i] >= 0)
			close(root->file[i]);
		root->file[i] = -1;
		ring_unmap(&root->ring[i]);
	}
	for (size_t i = 0; root->task_file && i < s.processors; i++)
		if (root->task_file[i] >= 0)
			close(root->task_file[i]);
	free(root->task_file);
	root->task_file = NULL;
}

static int open_root(struct origin *origin, pid_t thread, int is_held)
{
	struct root *root;

	s.root = grown(s.root, s.roots, &s.roots_room, sizeof *s.root);
	root = &s.root[s.roots++];
	memset(root, 0, sizeof *root);
	root->origin = origin;
	root->thread = thread;
	root->opened_ns = now_ns();
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

/* Rings. */

static void take_reads(uint64_t now)
{
	for (size_t i = 0; i < s.roots; i++)
		for (size_t kind = 0; kind < kinds.count; kind++) {
			struct origin *origin = s.root[i].origin;
			union raw      raw;

			while (s.root[i].ring[kind].page && ring_next(&s.root[i].ring[kind], &raw)) {
				if (raw.header.type == PERF_RECORD_LOST) {
					s.account.lost_events += raw.lost.lost;
					origin->is_torn = 1;
				}
				/* What its own threads counted remains its own. */
				if (raw.header.type != PERF_RECORD_READ || (pid_t)raw.read.pid == origin->pid)
					continue;
				origin->outside[kind] += raw.read.value;
				s.reads = grown(s.reads, s.read_count, &s.read_room, sizeof *s.reads);
				s.reads[s.read_count++] = (struct read_record){ origin, kind, (pid_t)raw.read.pid,
				                                                raw.read.value, now };
			}
		}
}

static void keep_event(const union raw *raw)
{
	struct task_record event = { .type = raw->header.type, .misc = raw->header.misc };
	uint64_t           mono_ns = raw->task.at_ns;

	if (event.type == PERF_RECORD_LOST) {
		s.account.lost_events += raw->lost.lost;
		return;
	}
	if (event.type == PERF_RECORD_COMM) {
		/* pid, thread, the name in whole words, then the identity that every record has: pid, thread, time */
		const char *name = (const char *)(raw->words + 2);

		event.pid = (pid_t)raw->task.pid;
		event.thread = (pid_t)raw->task.parent;
		snprintf(event.name, sizeof event.name, "%.15s", name);
		mono_ns = raw->words[raw->header.size / 8 - 1];
	} else if (event.type == PERF_RECORD_FORK || event.type == PERF_RECORD_EXIT) {
		event.pid = (pid_t)raw->task.pid;
		event.parent = (pid_t)raw->task.parent;
		event.thread = (pid_t)raw->task.thread;
		event.parent_thread = (pid_t)raw->task.parent_thread;
	} else {
		return;
	}
	event.at_ns = mono_ns + s.boot_offset_ns;
	s.events = grown(s.events, s.event_count, &s.event_room, sizeof *s.events);
	s.events[s.event_count++] = event;
}

static int by_time(const void *one, const void *other)
{
	uint64_t a = ((const struct task_record *)one)->at_ns, b = ((const struct task_record *)other)->at_ns;

	return a < b ? -1 : a > b;
}

/* What events say. */

static struct root *root_of(pid_t thread)
{
	for (size_t i = 0; i < s.roots; i++)
		if (s.root[i].thread == thread && s.root[i].file[0] >= 0)
			return &s.root[i];
	return NULL;
}

static struct member *ours(pid_t pid, uint64_t at_ns)
{
	struct member *member = family_find(pid);

	return member && member->process.attached && at_ns < member->process.watched_ns ? NULL : member;
}

static int is_origin(const struct member *member)
{
	return member->origin && member->origin->member == member;
}

static void begin_counts(struct member *member)
{
	member->counts = calloc(KINDS_MOST, sizeof(uint64_t));
	if (!member->counts)
		abort();
}

/* Of those that were found in /proc while we attached, some had been made by one with counters already: they
 * have inherited what they need, and what we opened for them too would count twice. */
static void close_what_is_double(const struct task_record *event)
{
	struct root *root = root_of(event->thread);

	if (root && root->origin->pid == event->pid && event->at_ns <= root->opened_ns)
		close_root(root);
}

/* Counters are opened one after another: what is born meanwhile has inherited some of them. */
static void begin_in_family(struct member *member, const struct member *parent, uint64_t at_ns)
{
	begin_counts(member);
	member->origin = parent->origin;
	member->origin->open++;
	member->is_partial = parent->is_partial || at_ns <= s.attached_ns;
}

static void adopt(struct member *member, const struct member *parent, uint64_t at_ns)
{
	for (size_t i = 0; i < s.roots; i++)
		if (s.root[i].origin == member->origin)
			close_root(&s.root[i]);
	if (is_origin(member))
		member->origin->member = NULL;
	member->process.attached = 0;
	member->process.begin_ns = member->process.watched_ns = at_ns;
	member->process.figure[virtual_begin] = member->process.figure[memory_begin] = UNKNOWN;
	account_clear(&member->base);
	begin_in_family(member, parent, at_ns);
}

static void take_fork(const struct task_record *event)
{
	struct member *parent = family_find(event->parent);
	struct member *member;

	close_what_is_double(event);
	if (event->pid == event->parent) {
		member = ours(event->pid, event->at_ns);
		if (member) {
			member->running++;
			member->process.threads++;
			if (event->at_ns <= s.attached_ns && is_origin(member))
				member->origin->is_torn = 1;
		}
		return;
	}
	if (!parent)
		return;
	member = family_find(event->pid);
	if (member && member->process.attached && event->at_ns <= member->process.watched_ns) {
		adopt(member, parent, event->at_ns);
		return;
	}
	member = family_fork(event->parent, event->pid, event->at_ns);
	begin_in_family(member, parent, event->at_ns);
}

static void take_name(const struct task_record *event)
{
	struct member *member = family_find(event->pid);
	int            by_exec = (event->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;

	if (!member || (!by_exec && event->thread != event->pid))
		return;
	if (by_exec && event->pid == s.command && s.command_runs) {
		s.command_runs = 0;
		member->process.watched_ns = event->at_ns;
		by_exec = 0;
	}
	family_program(member, event->name, by_exec);
}

static void take_event(const struct task_record *event)
{
	struct member *member;

	switch (event->type) {
	case PERF_RECORD_FORK:
		take_fork(event);
		break;
	case PERF_RECORD_COMM:
		take_name(event);
		break;
	default:
		member = ours(event->pid, event->at_ns);
		if (member)
			family_thread_ends(member, event->at_ns);
	}
}

static void take_events(uint64_t until_ns)
{
	union raw raw;
	size_t    taken = 0;

	for (size_t i = 0; i < s.processors; i++)
		while (s.tasks[i].page && ring_next(&s.tasks[i], &raw))
			keep_event(&raw);
	if (s.event_count)
		qsort(s.events, s.event_count, sizeof *s.events, by_time);
	while (taken < s.event_count && s.events[taken].at_ns <= until_ns)
		take_event(&s.events[taken++]);
	if (taken)
		memmove(s.events, s.events + taken, (s.event_count - taken) * sizeof *s.events);
	s.event_count -= taken;
}

/* To the processes that they are of, whose births may be told later. */
static void deal_reads(uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < s.read_count; i++) {
		struct read_record *record = &s.reads[i];
		struct member      *member = family_find(record->pid);

		if (member && member->counts) {
			((uint64_t *)member->counts)[record->kind] += record->value;
			member->reports++;
		} else if (now - record->seen_ns < SWEEP_NS) {
			s.reads[kept++] = *record;
		} else {
			s.account.lost_events++;
		}
	}
	s.read_count = kept;
}

/* From counts to figures. */

static void read_root(const struct root *root, uint64_t counts[])
{
	for (size_t i = 0; i < kinds.count; i++) {
		uint64_t value;

		if (root->file[i] >= 0 && read(root->file[i], &value, sizeof value) == (ssize_t)sizeof value)
			counts[i] += value;
	}
}

/* What a process of roots has counted itself: known while nothing that it made has yet to say what it did. */
static int own_counts(const struct origin *origin, uint64_t counts[])
{
	size_t roots = 0;

	if (origin->open || origin->is_torn)
		return -1;
	memset(counts, 0, KINDS_MOST * sizeof *counts);
	for (size_t i = 0; i < s.roots; i++)
		if (s.root[i].origin == origin && s.root[i].file[kinds.count - 1] >= 0) {
			read_root(&s.root[i], counts);
			roots++;
		}
	if (!roots)
		return -1;
	for (size_t i = 0; i < kinds.count; i++)
		counts[i] -= origin->outside[i];
	return 0;
}

/* Everything that it will ever say has come. */
static int is_complete(const struct member *member)
{
	if (s.exits.file >= 0 && member->accounts < member->exits)
		return 0;
	if (member->is_partial)
		return now_ns() - member->dead_ns > 4 * PACE_NS && member->dead_ns != UNKNOWN;
	return is_origin(member) ? !member->origin->open : member->reports >= member->exits * kinds.count;
}

static void finish(struct member *member)
{
	struct origin *origin = member->origin;
	uint64_t       counts[KINDS_MOST];

	family_sum_up(member);
	if (is_origin(member)) {
		if (!own_counts(origin, counts))
			kinds_tell(&member->process, counts);
		origin->member = NULL;
	} else {
		uint64_t due = (member->exits ? member->exits : 1) * kinds.count;

		if (!member->is_partial && member->exits && member->reports >= due) {
			kinds_tell(&member->process, member->counts);
		} else if (!member->is_partial) {
			s.account.lost_events += due > member->reports ? due - member->reports : 1;
			origin->is_torn = 1;
		}
		origin->open--;
	}
	/* The last switch of all, which a process makes once it is dead, finds no counter. (Those of its other
	 * threads come after their counts were added to its own: the kernel forgets them too.) */
	if (!kinds.is_user_only && member->process.figure[switches_voluntary] != UNKNOWN)
		member->process.figure[switches_voluntary]++;
	if (member->process.pid == outside.command && outside.command_ended)
		member->process.status = outside.command_status;
	s.ended++;
	family_write(member);
}

static void take_all(int is_last)
{
	uint64_t       now = now_ns();
	int            is_sweep = is_last || now - s.swept_ns >= SWEEP_NS;
	struct member *next;

	/* In this order a thread's end is known when its counts are. */
	take_reads(now);
	take_events(is_last ? UNKNOWN : now - LATE_NS);
	family_take_accounts(&s.exits);
	deal_reads(now);
	if (is_sweep)
		s.swept_ns = now;
	/* The youngest stand first: what a process has made is finished before it. */
	for (struct member *member = family_first(); member; member = next) {
		int is_late;

		next = member->next;
		if (!family_is_dead(member, is_sweep))
			continue;
		is_late = is_last || (member->dead_ns < now && now - member->dead_ns > SWEEP_NS);
		if (is_complete(member) || (is_late && !(is_origin(member) && member->origin->open && !is_last)))
			finish(member);
	}
}

/* Whether it writes those records under the lock that keeps them whole: see above. */
static int is_locked(void)
{
	struct utsname name;
	unsigned       major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 13));
}

/* Whether the kernel says what a task had counted at its end: a child's child is made and waited for. */
static int is_reported_at_end(char *why, size_t why_room)
{
	struct origin origin = { 0 };
	size_t        count = kinds.count;
	int           gate[2], seen = 0;
	union raw     raw;
	pid_t         child;

	if (pipe(gate))
		return 0;
	child = fork();
	if (!child) {
		char byte;

		close(gate[1]);
		if (read(gate[0], &byte, 1) == 0 && (child = fork()))
			waitpid(child, NULL, 0);
		_exit(0);
	}
	close(gate[0]);
	kinds.count = 1;
	s.pages = 1;
	if (child > 0 && !open_root(&origin, child, 0)) {
		close(gate[1]);
		waitpid(child, NULL, 0);
		while (ring_next(&s.root[0].ring[0], &raw))
			seen |= raw.header.type == PERF_RECORD_READ && raw.read.pid != (uint32_t)child;
		if (!seen)
			snprintf(why, why_room, "this kernel does not say what a task's counters were at its end: a fault "
			                        "of Linux since 5.13, mended in 6.19 and in later stable ones");
	} else {
		snprintf(why, why_room, "%s: %s", s.failed ? s.failed : "fork", strerror(errno));
		close(gate[1]);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	for (size_t i = 0; i < s.roots; i++)
		close_root(&s.root[i]);
	s.roots = 0;
	for (size_t i = 0; i < s.processors; i++)
		ring_unmap(&s.tasks[i]);
	kinds.count = count;
	s.account.maps_bytes = 0;
	return seen;
}

/* The backend. */

static int paranoia(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int   value = -1;

	if (file) {
		if (fscanf(file, "%d", &value) != 1)
			value = -1;
		fclose(file);
	}
	return value;
}

static void find_processors(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	int   first, last;

	s.processors = 0;
	while (file && fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 0)
			last = first;
		for (; first <= last && s.processors < PROCESSORS_MOST; first++)
			s.processor[s.processors++] = first;
		if (fgetc(file) != ',')
			break;
	}
	if (file)
		fclose(file);
}

/* Whether we may count, and whether of the kernel too. */
static int may_count(char *why, size_t why_room)
{
	struct opening opening = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .processor = -1,
		                   .group = -1, .inherited = 1, .reported = 1 };
	int            file;

	kinds.is_user_only = 0;
	file = counter_open(&opening);
	if (file < 0 && (errno == EACCES || errno == EPERM)) {
		kinds.is_user_only = 1;
		file = counter_open(&opening);
	}
	if (file >= 0) {
		close(file);
		return 0;
	}
	snprintf(why, why_room, "perf_event_open: %s (kernel.perf_event_paranoid is %d)", strerror(errno), paranoia());
	return -1;
}

static int refuse(const struct order *order, char *why, size_t why_room)
{
	const char *because = NULL;

	if (order->detail == BUDGET)
		because = "a process's own counts are known at its end alone, not window by window: "
		          "--detail life or calls";
	else if (order->detail == PROFILE)
		because = "perf's samples do not say which system call a process is in: --detail life or calls";
	else if (order->detail == LATENCY)
		because = "counters have no times: --detail life or calls";
	else if (order->threads || order->prove)
		because = "there are neither records of threads nor windows without counters here";
	if (because)
		snprintf(why, why_room, "%s", because);
	return because ? -1 : 0;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
	if (refuse(order, why, why_room))
		return -1;
	find_processors();
	if (may_count(why, why_room))
		return -1;
	if (kinds_choose(order->detail)) {
		snprintf(why, why_room, kinds.is_user_only ? "system calls can be counted with CAP_PERFMON, or with "
		                                         "kernel.perf_event_paranoid of 1 or less"
		                                       : "the numbers of tracepoints cannot be read: tracefs "
		                                         "is for root alone, or the kernel has none");
		return -1;
	}
	if (!is_locked()) {
		snprintf(why, why_room, "before Linux 5.13 what two tasks had counted at their ends may be written over "
		                        "each other");
		return -1;
	}
	return is_reported_at_end(why, why_room) ? 0 : -1;
}

static const char *const *missing(const struct order *order)
{
	static const char *sentences[12];
	size_t             count = 0;

	sentences[count++] = "What a process counted while others that it made go on: it is known when those have ended.";
	sentences[count++] = "Time blocked; memory at the beginning and at the end of what begins or ends while watched.";
	sentences[count++] = "Processor time for taking a task's memory down at its end, after its counters; and whether it was "
	                     "an interrupt or another guest of the host that took some of the time.";
	if (s.exits.file < 0)
		sentences[count++] = "Of processes that have ended: user and system time apart, time waiting to run, input "
		                     "and output, peak of memory, and the exit status but of the command (that takes "
		                     "CAP_NET_ADMIN).";
	else
		sentences[count++] = "Input and output below a whole KiB of each thread; how often it read and wrote.";
	if (kinds.is_user_only)
		sentences[count++] = "Faults, switches and signals: not without CAP_PERFMON, or kernel.perf_event_paranoid "
		                     "of 1 or less.";
	if (order->detail == CALLS)
		sentences[count++] = "The types of the rarer system calls, and of all 32-bit ones: they are in \"other\".";
	if (!order->command)
		sentences[count++] = "Counts of a process that was made, or made a thread, while its counters were being opened.";
	if (order->cgroup)
		sentences[count++] = "Processes moved into the control group while it is watched.";
	sentences[count] = NULL;
	return sentences;
}

static struct origin *new_origin(struct member *member)
{
	struct origin *origin = calloc(1, sizeof *origin);

	s.origin = realloc(s.origin, (s.origins + 1) * sizeof *s.origin);
	if (!origin || !s.origin)
		abort();
	s.origin[s.origins++] = origin;
	origin->pid = member->process.pid;
	origin->member = member;
	member->origin = origin;
	return origin;
}

/* Returns how many threads had none, or SIZE_MAX. */
static size_t open_roots(const struct member *member)
{
	static pid_t threads[THREADS_MOST];
	size_t       count = snapshot_threads(member->process.pid, threads, THREADS_MOST);
	size_t       found = 0;

	for (size_t i = 0; i < count; i++) {
		if (root_of(threads[i]))
			continue;
		found++;
		/* It may have ended meanwhile: then its leader's counter has no device any more. */
		if (open_root(member->origin, threads[i], 0) && errno != ESRCH && errno != ENODEV)
			return SIZE_MAX;
	}
	return found;
}

/* Until a pass over /proc finds nobody new. */
static int attach_all(const pid_t pids[], size_t count)
{
	size_t found;

	do {
		found = 0;
		family_attach_all(&s.exits, pids, count);
		for (struct member *member = family_first(); member; member = member->next) {
			size_t opened;

			if (!member->origin)
				new_origin(member);
			opened = open_roots(member);
			if (opened == SIZE_MAX)
				return -1;
			found += opened;
		}
	} while (found);
	return 0;
}

static void allow_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Fewer pages each, the more rings there are to be. */
static void choose_pages(size_t threads)
{
	s.pages = COUNTER_PAGES;
	while (s.pages > 1 && s.pages * kinds.count * threads > ALL_PAGES)
		s.pages /= 2;
}

static int begin_with_command(pid_t child)
{
	struct member *member = family_attach(&s.exits, child);

	member->process.attached = 0;
	member->process.figure[virtual_begin] = member->process.figure[memory_begin] = UNKNOWN;
	s.command = child;
	s.command_runs = 1;
	choose_pages(1);
	return open_root(new_origin(member), child, 1);
}

static int begin_with_pids(const struct order *order)
{
	pid_t *pids;
	size_t count;
	int    answer;

	choose_pages(order->pid_count ? order->pid_count : 16);
	if (!order->cgroup)
		return attach_all(order->pids, order->pid_count);
	count = cgroup_members(order->cgroup, &pids);
	answer = attach_all(pids, count);
	free(pids);
	return answer;
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	struct timespec time;
	char            unheard[WHY];

	memset(&s.account, 0, sizeof s.account);
	for (int i = 0; i < FIGURES; i++)
		s.account.unfollowed_figure[i] = UNKNOWN;
	family_begin(order, &s.account);
	clock_gettime(CLOCK_MONOTONIC, &time);
	s.boot_offset_ns = now_ns() - ((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);
	s.swept_ns = now_ns();
	allow_files();
	exits_open(&s.exits, unheard, sizeof unheard);
	if (!(child ? begin_with_command(child) : begin_with_pids(order))) {
		s.attached_ns = child ? 0 : now_ns();
		return 0;
	}
	snprintf(why, why_room, "%s: %s", s.failed, strerror(errno));
	return -1;
}

static enum woken wait_for(uint64_t until_ns)
{
	return family_wait(until_ns, PACE_NS, take_all);
}

static int look_now(struct member *member)
{
	uint64_t counts[KINDS_MOST];

	if (family_refresh(&s.exits, member))
		return -1;
	if (is_origin(member) && !own_counts(member->origin, counts))
		kinds_tell(&member->process, counts);
	return 0;
}

static void tell_reading(uint64_t at_ns)
{
	take_all(0);
	for (struct member *member = family_first(); member; member = member->next) {
		if (member->left_out || look_now(member))
			continue;
		write_reading(at_ns, &member->process, &member->reported);
		process_free_calls(&member->reported);
		process_clear(&member->reported);
		process_add(&member->reported, &member->process);
	}
}

/* The counters' own sums, of all there was. */
static uint64_t total(struct process *sum)
{
	uint64_t counts[KINDS_MOST] = { 0 };

	take_all(0);
	process_add(sum, &family_sum);
	for (struct member *member = family_first(); member; member = member->next)
		if (!look_now(member))
			process_add(sum, &member->process);
	for (size_t i = 0; i < s.roots; i++)
		read_root(&s.root[i], counts);
	kinds_tell(sum, counts);
	if (sum->figure[switches_voluntary] != UNKNOWN)
		sum->figure[switches_voluntary] += s.ended;
	for (int i = virtual_begin; i < FIGURES; i++)
		sum->figure[i] = UNKNOWN;
	return family_size;
}

static int is_waited_for(struct member *member)
{
	int is_dead = family_is_dead(member, 1);

	return is_dead ? !(is_origin(member) && member->origin->open) : member->gone_ns != UNKNOWN;
}

/* Those that have ended may have records under way. */
static void wait_for_the_last(void)
{
	for (int i = 0; i < 20; i++) {
		int is_waiting = 0;

		take_all(0);
		for (struct member *member = family_first(); member; member = member->next)
			is_waiting |= is_waited_for(member);
		if (!is_waiting)
			return;
		usleep(2000);
	}
}

/* When a tracepoint's last counter goes, the kernel waits some tens of ms until nobody is in it: for each in
 * turn, and the command's end would wait with us. So a child of our own holds them last, and nothing else. */
static void leave_closing_to_a_child(void)
{
	int most = 0;

	if (s.roots)
		ioctl(s.root[0].file[0], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < s.roots; i++)
		for (size_t kind = 0; kind < kinds.count; kind++)
			most = s.root[i].file[kind] > most ? s.root[i].file[kind] : most;
	if (fork())
		return;
	for (int file = 0; file <= most; file++) {
		int is_counter = 0;

		for (size_t i = 0; i < s.roots && !is_counter; i++)
			for (size_t kind = 0; kind < kinds.count; kind++)
				is_counter |= s.root[i].file[kind] == file;
		if (!is_counter)
			close(file);
	}
	syscall(SYS_close_range, (unsigned)most + 1, ~0U, 0);
	_exit(0);
}

static void end(struct account *account)
{
	struct member *member;
	struct process sum;

	wait_for_the_last();
	process_clear(&sum);
	total(&sum);
	take_all(1);
	while ((member = family_first())) {
		if (look_now(member))
			finish(member);
		else
			family_write(member);
	}
	leave_closing_to_a_child();
	for (size_t i = 0; i < s.roots; i++)
		close_root(&s.root[i]);
	for (size_t i = 0; i < s.processors; i++)
		ring_unmap(&s.tasks[i]);
	for (size_t i = 0; i < s.origins; i++)
		free(s.origin[i]);
	s.account.lost_events += s.exits.lost;
	exits_close(&s.exits);
	s.account.hook_ns = s.account.hits = UNKNOWN;
	s.account.total = sum;
	*account = s.account;
}

const struct backend perf_backend = {
	.name = "perf",
	.probe = probe,
	.missing = missing,
	.begin = begin,
	.wait = wait_for,
	.read = tell_reading,
	.total = total,
	.end = end,
};
