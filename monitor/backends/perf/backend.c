/* backend.c -- the monitor by perf: counters of perf_event_open, inherited by whatever the watched
 * processes make.
 *
 * A counter that is inherited has one sum for a whole tree. But with inherit_stat the kernel writes
 * what each task had counted into the counter's ring at that task's end (PERF_RECORD_READ); the sum
 * less all of those is what the first task had. So each process's share is exact, once it and its
 * descendants have ended.
 *
 * Each counter has a ring of its own, that of a counter which itself is off: the kernel writes
 * records of READ from whatever processor, and what keeps two from writing at once is the counter's
 * own lock. In a ring that several counters share they would overwrite each other. That first
 * task's counter is never exchanged with a child's at a context switch, as the kernel does with
 * equal sets of counters: the counter of the ring is not inherited, so the sets are not equal.
 *
 * Needs    perf_event_paranoid of 2 or less for processor time alone; CAP_PERFMON, or 1 or less,
 *          for the rest; a kernel whose READ records work: before Linux 5.13 they were written
 *          without that lock, and from then on not at all, until commit c418d8b4d7a4 (6.19, and the
 *          stable ones since December 2025).
 * Costs    each counter, at each context switch and birth of a watched task; a record of each
 *          piece of code that a program maps; at CALLS, a tracepoint
 *          at each system call, with a filter for its errors. By-standers pay for the tracepoint
 *          being there.
 * Loses    records for which a ring has no room: in lost_events; a process whose counts were in
 *          them says nothing of itself. Who executes a program that changes rights or may not be
 *          read, from then on: see unseen.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "kernel/snapshot.h"
#include "perf.h"

enum { WHY = 256 };
/* Pages of a counter's ring (170 ended tasks a page), and of all rings, at most. */
enum { COUNTER_PAGES = 4, ALL_PAGES = 8192 };

static const char *const *missing(const struct order *order)
{
	static const char *sentences[12];
	size_t             count = 0;

	sentences[count++] =
		"Counts of a process whose children still run: they are known when the children have ended.";
	sentences[count++] =
		"Time blocked; memory at the beginning and at the end of what begins or ends while watched.";
	sentences[count++] =
		"Processor time for taking a task's memory down at its end, after its counters; and whether it was "
		"an interrupt or another guest of the host that took some of the time.";
	if (perf.exits.file < 0)
		sentences[count++] =
			"Of processes that have ended: user and system time apart, time waiting to run, input "
			"and output, peak of memory, and the exit status (that takes CAP_NET_ADMIN); but "
			"of the command itself all that wait4 tells: its peak of memory only if it "
			"waited for no child.";
	else
		sentences[count++] =
			"Input and output below a whole KiB of each thread; how often it read and wrote.";
	if (kinds.is_user_only)
		sentences[count++] =
			"Faults, switches and signals: not without CAP_PERFMON, or kernel.perf_event_paranoid "
			"of 1 or less.";
	if (order->detail == CALLS)
		sentences[count++] =
			"The types of the rarer system calls, and of all 32-bit ones: they are in \"other\".";
	if (!order->command)
		sentences[count++] =
			"Counts of a process that was made, or made a thread, while its counters were being opened.";
	if (order->cgroup)
		sentences[count++] =
			"Processes that come into the control group from outside while it is watched.";
	sentences[count] = NULL;
	return sentences;
}

static struct origin *new_origin(struct relative *one)
{
	struct origin *origin = calloc(1, sizeof *origin);

	if (!origin)
		no_memory();
	origin->pid = one->member.process.pid;
	origin->member = one;
	one->origin = origin;
	return origin;
}

/* Returns how many threads had none, or SIZE_MAX. */
static size_t open_roots(const struct relative *one)
{
	static pid_t threads[THREADS_MOST];
	size_t       count = snapshot_threads(one->member.process.pid, threads, THREADS_MOST);
	size_t       found = 0;

	for (size_t i = 0; i < count; i++) {
		if (root_of(threads[i]))
			continue;
		/* It may have ended meanwhile: then its leader's counter has no device any more. */
		if (!root_open(one->origin, threads[i], 0))
			found++;
		else if (errno != ESRCH && errno != ENODEV)
			return SIZE_MAX;
	}
	return found;
}

/* Until a pass over /proc finds no new process. */
static int attach_all(const pid_t pids[], size_t count)
{
	size_t found;

	do {
		found = 0;
		family_attach_all(&perf.exits, pids, count);
		for (struct member *member = family_first(); member; member = member->next) {
			struct relative *one = relative(member);
			size_t           opened;

			if (!one->origin)
				new_origin(one);
			opened = open_roots(one);
			if (opened == SIZE_MAX)
				return -1;
			found += opened;
		}
	} while (found);
	return 0;
}

/* Fewer pages each, the more rings there are to be. */
static void choose_pages(size_t threads)
{
	perf.pages = COUNTER_PAGES;
	while (perf.pages > 1 && perf.pages * kinds.count * threads > ALL_PAGES)
		perf.pages /= 2;
}

static int begin_with_command(pid_t child)
{
	struct member *member = family_attach_command(&perf.exits, child);

	perf.command = child;
	perf.command_runs = 1;
	choose_pages(1);
	return root_open(new_origin(relative(member)), child, 1);
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
	char unheard[WHY];

	memset(&perf.account, 0, sizeof perf.account);
	perf.cgroup = order->cgroup;
	family_begin(order, &perf.account, sizeof(struct relative));
	allow_many_files();
	exits_open(&perf.exits, unheard, sizeof unheard);
	if (!(child ? begin_with_command(child) : begin_with_pids(order))) {
		perf.attached_ns = child ? 0 : boottime_ns();
		return 0;
	}
	snprintf(why, why_room, "%s: %s", perf.failed, strerror(errno));
	roots_close();
	exits_close(&perf.exits);
	return -1;
}

static enum woken wait_for(uint64_t until_ns)
{
	return family_wait(until_ns, PACE_NS, shares_take);
}

static int refresh(struct member *member)
{
	struct relative *one = relative(member);
	uint64_t         counts[KINDS_MOST];

	if (family_refresh(&perf.exits, member))
		return -1;
	if (is_origin(one) && !shares_own(one->origin, counts))
		kinds_tell(&member->process, counts);
	return 0;
}

static void read_all(uint64_t at_ns)
{
	shares_take(0);
	family_write_readings(at_ns, refresh);
}

/* The counters' own sums, of all there was. */
static uint64_t total(struct process *sum)
{
	uint64_t counts[KINDS_MOST] = { 0 }, of_processes[FIGURES], processes;

	shares_take(0);
	processes = family_total(sum, refresh);
	memcpy(of_processes, sum->figure, sizeof of_processes);
	for (size_t i = 0; i < perf.roots; i++)
		root_read(&perf.root[i], counts);
	kinds_tell(sum, counts);
	if (sum->figure[switches_voluntary] != UNKNOWN)
		sum->figure[switches_voluntary] += perf.ended;
	sum->is_missed = lost[LOST_AT_EXEC] > 0; /* a share may be lost, and the sum whole */
	if (sum->is_missed) {
		figures_raise(sum->figure, of_processes, SUMS);
		process_cut_short(sum, ALL);
	}
	/* Of some processes these are known, and of others not: no split of what all had. */
	if (perf.exits.file < 0 && processes > 1)
		sum->figure[cpu_user_ns] = sum->figure[cpu_system_ns] = UNKNOWN;
	return processes;
}

static int is_waited_for(struct member *member)
{
	const struct relative *one = relative(member);
	int                    is_dead = family_is_dead(member, 1);

	return is_dead ? !(is_origin(one) && one->origin->open) : member->gone_ns != UNKNOWN;
}

/* When a tracepoint's last counter goes, the kernel waits some tens of ms until no one is in it:
 * for each in turn, and the command's end would wait with us. So a child of our own holds them
 * last, and nothing else. */
static void leave_closing_to_a_child(void)
{
	int most = 0;

	if (perf.roots)
		ioctl(perf.root[0].file[0], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < perf.roots; i++)
		for (size_t kind = 0; kind < kinds.count; kind++)
			most = perf.root[i].file[kind] > most ? perf.root[i].file[kind] : most;
	if (fork())
		return;
	for (int file = 0; file <= most; file++) {
		int is_counter = 0;

		for (size_t i = 0; i < perf.roots && !is_counter; i++)
			for (size_t kind = 0; kind < kinds.count; kind++)
				is_counter |= perf.root[i].file[kind] == file;
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

	family_wait_for_the_last(shares_take, is_waited_for);
	shares_take(1);
	family_check_cgroup(perf.cgroup);
	while ((member = family_first())) {
		if (refresh(member))
			shares_finish(relative(member));
		else
			family_write(member);
	}
	/* Last, so that no process's own row has more. */
	process_clear(&sum);
	total(&sum);
	lost[LOST_PROCESSORS] = roots_unheard();
	leave_closing_to_a_child();
	roots_close();
	exits_close(&perf.exits);
	perf.account.hook_ns = perf.account.hits = perf.account.hits_of_all = UNKNOWN;
	perf.account.total = sum;
	*account = perf.account;
}

static int sees_less(const struct order *order, char *why, size_t why_room)
{
	struct exits exits;
	char         unheard[WHY];

	/* Calls it counts at a fraction of what ptrace costs, whatever else it sees. */
	if (order->detail != LIFE)
		return 0;
	if (!exits_open(&exits, unheard, sizeof unheard)) {
		exits_close(&exits);
		return 0;
	}
	snprintf(
		why, why_room,
		"without CAP_NET_ADMIN in the first namespaces it knows neither the peak of memory of "
		"the processes nor their user and system time");
	return 1;
}

const struct backend perf_backend = {
	.name = "perf",
	.has_own_counters = 1,
	.probe = probe,
	.sees_less = sees_less,
	.missing = missing,
	.begin = begin,
	.wait = wait_for,
	.read = read_all,
	.total = total,
	.end = end,
};
