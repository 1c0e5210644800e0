/* backend.c -- the monitor by reading /proc now and then: no privilege, no tracing, nothing for the
 * watched to do.
 *
 * Costs        the watched processes nothing. Us, at each pass, one clock read for a process that
 *              has not run since the last, and some files for one that has.
 * Loses        what happens between two passes: a process that came and went is not seen; of one
 *              that has ended, all after the last pass, unless it was our own child. lost_events
 *              has the processes whose end was missed, and one for each process that had a child
 *              which no pass found.
 * Beware       we are the subreaper of our command: a descendant whose parent has ended becomes our
 *              child, so that we find it, and learn what it cost to the end. getppid() then tells
 *              it our number; without us it would be that of init, or of the session's own
 *              subreaper.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "draw.h"
#include "follow/meters.h"
#include "kernel/procfs.h"
#include "monitor.h"

enum { PACE_NS = 100000000 /* where no interval is asked for */ };

struct thread {
	struct thread_meter meter;
	int                 is_there; /* the last pass has found it */
};

struct subject {
	struct meter meter;
	int          directory;       /* open as long as it is watched */
	uint64_t     run_ns;          /* its clock at the last pass */
	uint64_t     children;        /* that were found */
	uint64_t     children_faults; /* of those of them that have ended, and of theirs */
	int          is_zombie, has_lost_child;
};

static struct {
	const struct order *order;
	pid_t               command;
	uint64_t            next_pass_ns; /* UNKNOWN: the readings are the passes */
	uint64_t            unfollowed, born;
	char                our_program[16];
} s;

static struct subject *find(pid_t pid)
{
	return (struct subject *)meter_find(pid);
}

/* -- Births -- */

static void refresh_thread(pid_t thread, void *context)
{
	struct subject      *process = context;
	struct thread_meter *found = process->meter.threads;
	struct procfs_stat   stat;

	while (found && found->thread != thread)
		found = found->next;
	if (!found && !procfs_stat_of(process->meter.record.pid, thread, &stat)) {
		found = meter_add_thread(&process->meter, thread, stat.begin_ns);
		/* Of one that was attached, threads that come later are new. */
		if (process->meter.has_begun)
			meter_begin_thread(found, boottime_ns(), 1);
	}
	if (found)
		((struct thread *)found)->is_there = 1;
}

/* Brings the list of its threads up to date. */
static void refresh_threads(struct subject *process, uint64_t now)
{
	for (struct thread_meter *thread = process->meter.threads; thread; thread = thread->next)
		((struct thread *)thread)->is_there = 0;
	procfs_threads(process->meter.record.pid, refresh_thread, process);
	for (struct thread_meter *thread = process->meter.threads, *after; thread; thread = after) {
		after = thread->next;
		if (((struct thread *)thread)->is_there)
			continue;
		meter_end_thread(thread, now, -1);
		process_cut_short(&process->meter.record, THREADS);
	}
}

/* A process that is not watched yet. `parent` NULL: it was named, or is the command. NULL if it has
 * gone. */
static struct subject *add(pid_t pid, struct subject *parent, int is_new)
{
	struct procfs_stat stat;
	struct subject    *process;
	int                directory = procfs_open(pid, 0);

	if (directory < 0 || procfs_stat(directory, &stat, NULL) ||
	    (!is_new && procfs_has_ended(&stat))) {
		if (directory >= 0)
			close(directory);
		return NULL;
	}
	process = (struct subject *)meter_add(pid, (struct meter *)parent, stat.begin_ns);
	process->directory = directory;
	process->run_ns = UNKNOWN; /* read it, whatever its clock says */
	process->meter.record.attached = !is_new;
	if (!parent)
		process->meter.record.parent = stat.parent;
	refresh_threads(process, boottime_ns());
	meter_begin(&process->meter, boottime_ns(), is_new);
	if (is_new) /* it began before we found it */
		figures_forget(process->meter.record.figure, BEGIN);
	return process;
}

/* A child of one that is followed: so is one in that many. The others stay in the list, so that
 * each is passed over once. */
static void add_child(struct subject *parent, pid_t pid, int is_new)
{
	struct subject *child;

	if (pid == getpid() || pid == s.order->except || find(pid))
		return;
	parent->children++;
	if (parent->meter.record.generation + 1 < s.order->drawn_from ||
	    draw_follows(s.order->seed, s.born++, s.order->children)) {
		add(pid, parent, is_new);
		return;
	}
	child = (struct subject *)meter_add(pid, (struct meter *)parent, boottime_ns());
	child->meter.is_unfollowed = 1;
	child->directory = procfs_open(pid, 0);
	s.unfollowed++;
}

/* Also one whose parent has ended: which that was is not known any more. */
static void add_new_child(pid_t pid, void *context)
{
	add_child(context, pid, 1);
}

static void add_attached_child(pid_t pid, void *context)
{
	add_child(context, pid, 0);
}

/* -- Ends -- */

/* What its parent was told of it, if it waited for it: a parent that has more from its children had
 * one that was not found. */
static void tell_parent(struct subject *process)
{
	struct subject    *parent = find(process->meter.record.parent);
	struct procfs_stat stat;
	uint64_t           own[FIGURES];

	if (!parent)
		return;
	if (!process->is_zombie || procfs_stat(process->directory, &stat, own))
		parent->has_lost_child = 1;
	else
		parent->children_faults += own[faults_minor] + stat.children_faults_minor;
}

static void compare_with_children(struct subject *process)
{
	uint64_t           clocks[FIGURES];
	struct procfs_stat stat;

	for (struct meter *child = meters_first; child; child = child->next)
		if (child->record.parent == process->meter.record.pid &&
		    procfs_clocks(child->record.pid, clocks))
			process->has_lost_child = 1; /* the next pass will find that out */

	if (!process->has_lost_child && !process->meter.record.attached && s.order->children == 1 &&
	    !procfs_stat(process->directory, &stat, NULL) &&
	    stat.children_faults_minor > process->children_faults)
		lost[LOST_EVENTS]++;
}

static void finish(struct subject *process, uint64_t end_ns, int status)
{
	/* There may have been more than any pass found. */
	process->meter.record.threads = UNKNOWN;
	process->meter.record.children = UNKNOWN;
	if (process->directory >= 0)
		close(process->directory);
	meter_end(&process->meter, end_ns, status);
}

/* It has gone since the last pass. */
static void lose(struct subject *process, uint64_t now)
{
	if (!process->meter.is_unfollowed) {
		if (!process->is_zombie)
			lost[LOST_EVENTS]++;
		process->meter.record.is_missed |= !process->is_zombie;
		tell_parent(process);
		process_cut_short(&process->meter.record, process->is_zombie ? LEVELS : ALL);
	}
	finish(process, now, -1);
}

/* -- Passes -- */

/* It cannot be read: because it has gone, or because it is hidden from us. Returns whether it is
 * still there. */
static int miss(struct subject *process, uint64_t now)
{
	if (!procfs_hides(process->meter.record.pid)) {
		lose(process, now);
		return 0;
	}
	meter_hide(&process->meter);
	return 1;
}

/* Returns whether it is still there. */
static int refresh(struct subject *process, uint64_t now)
{
	uint64_t           clocks[FIGURES];
	struct procfs_stat stat;

	if (procfs_clocks(process->meter.record.pid, clocks)) {
		lose(process, now);
		return 0;
	}
	/* One that has not run has done nothing, and made no child. */
	if (process->meter.is_unfollowed || clocks[run_ns] == process->run_ns)
		return 1;
	if (procfs_stat(process->directory, &stat, NULL))
		return miss(process, now); /* or its number is another's now */
	process->run_ns = clocks[run_ns];
	if (stat.threads != 1 || !process->meter.threads || process->meter.threads->next)
		refresh_threads(process, now);
	if (meter_read(&process->meter, now))
		return miss(process, now);
	if (stat.state == 'Z') {
		process->is_zombie = 1;
		compare_with_children(process);
		tell_parent(process);
	} else {
		procfs_children(process->meter.record.pid, add_new_child, process);
	}
	return 1;
}

static void refresh_all(uint64_t now)
{
	struct subject *command = s.command ? find(s.command) : NULL;

	if (command)
		procfs_children(getpid(), add_new_child, command);
	for (struct meter *process = meters_first, *after; process; process = after) {
		after = process->next;
		if (refresh((struct subject *)process, now))
			after = process->next; /* which may be a child that this pass has found */
	}
}

/* -- Our own children: the command, and its orphans -- */

static int is_failed_exec(const struct subject *process, const siginfo_t *info)
{
	return process->meter.record.pid == s.command && info->si_code == CLD_EXITED &&
	       info->si_status >= 125 && info->si_status <= 127 &&
	       !strcmp(process->meter.record.program, s.our_program);
}

/* A zombie, not reaped yet: all its figures are final. */
static void take_end(const siginfo_t *info, int status)
{
	struct subject *process = find(info->si_pid);
	uint64_t        now = boottime_ns();

	if (!process && find(s.command)) {
		add_new_child(info->si_pid, find(s.command));
		process = find(info->si_pid);
	}
	if (!process)
		return;
	if (process->meter.is_unfollowed) {
		/* in no record */
	} else if (!meter_read(&process->meter, now)) {
		process->is_zombie = 1;
		compare_with_children(process);
	} else {
		meter_hide(&process->meter);
	}
	/* A zombie has no memory: it was read when the process ran. */
	process_cut_short(&process->meter.record, LEVELS);
	if (info->si_pid == s.command) {
		process->meter.record.end_ns = now;
		command_look();
		command_complete(&process->meter.record);
	}
	if (is_failed_exec(process, info))
		process->meter.is_unfollowed = 1; /* no program of theirs has run */
	finish(process, now, status);
}

static void reap(void)
{
	for (;;) {
		siginfo_t info = { 0 };
		int       status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
			return;
		status = info.si_code == CLD_EXITED
		                 ? info.si_status << 8
		                 : info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
		take_end(&info, status);
		waitpid(info.si_pid, &status, WNOHANG);
		if (info.si_pid == s.command) {
			outside.command_status = status;
			outside.command_ended = 1;
		}
	}
}

/* -- The seam -- */

static void begin_families(void)
{
	/* The list grows while it is gone through. */
	for (struct meter *process = meters_first; process; process = process->next)
		if (!process->is_unfollowed)
			procfs_children(process->record.pid, add_attached_child, process);
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	struct subject *command;

	s.order = order;
	s.command = child;
	s.next_pass_ns = order->every_ns ? UNKNOWN : boottime_ns() + PACE_NS;
	meters_open(order, sizeof(struct subject), sizeof(struct thread));
	allow_many_files();
	if (child) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1) || !(command = add(child, NULL, 0))) {
			snprintf(why, why_room, "the command cannot be watched: %s",
			         strerror(errno));
			return -1;
		}
		outside.backend_reaps = 1;
		command->meter.record.attached = 0;
		memcpy(s.our_program, command->meter.record.program, sizeof s.our_program);
		figures_forget(command->meter.record.figure, BEGIN);
		return 0;
	}
	for (size_t i = 0; i < order->pid_count; i++)
		if (order->pids[i] != order->except && !find(order->pids[i]) &&
		    !add(order->pids[i], NULL, 0))
			lost[LOST_EVENTS]++; /* it has ended since it was named */
	if (!meters_first) {
		snprintf(why, why_room, "process %d has ended, or is hidden from us",
		         (int)order->pids[0]);
		return -1;
	}
	begin_families();
	return 0;
}

static enum woken wait_until(uint64_t until_ns)
{
	for (;;) {
		uint64_t   wake_ns = s.next_pass_ns < until_ns ? s.next_pass_ns : until_ns, now;
		enum woken woken;

		outside_check();
		if (s.command)
			reap();
		if (outside.stop || outside.command_ended)
			return WOKEN_BY_SIGNAL;
		if (!meters_first)
			return WOKEN_BY_END;
		woken = wait_quietly(wake_ns, -1);
		now = boottime_ns();
		if (now >= s.next_pass_ns) {
			refresh_all(now);
			s.next_pass_ns = now + PACE_NS;
		}
		if (woken == WOKEN_BY_CONTROL)
			return woken;
		if (now >= until_ns)
			return WOKEN_BY_TIME;
	}
}

static void read_all(uint64_t now)
{
	refresh_all(now);
	for (struct meter *process = meters_first; process; process = process->next)
		meter_write_reading(process, now);
}

static void end(struct account *account)
{
	if (s.command)
		reap();
	refresh_all(boottime_ns());
	while (meters_first) {
		if (!((struct subject *)meters_first)->is_zombie)
			meter_age(meters_first, boottime_ns());
		finish((struct subject *)meters_first, UNKNOWN, -1);
	}
	meters_total(&account->total);
	account->hits = 0;
	account->maps_bytes = 0;
	account->lost_slots = 0;
	account->unfollowed = s.unfollowed;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
	struct procfs_stat stat;
	uint64_t           figure[FIGURES];
	const char        *reason = NULL;
	int                directory = procfs_open(getpid(), 0);

	if (directory < 0 || procfs_totals(getpid(), directory, &stat, figure))
		reason = "/proc is missing";
	else if (order->detail != LIFE)
		reason = "calls are not visible in /proc: it supports only detail life";
	else if (order->cgroup)
		reason = "it follows processes and their descendants, not cgroups";
	else if (order->prove)
		reason = "there is no hook to remove for a comparison";
	if (directory >= 0)
		close(directory);
	if (reason)
		snprintf(why, why_room, "%s", reason);
	return reason ? -1 : 0;
}

static const char *const *missing(const struct order *order)
{
	static const char *said[12];
	size_t             count = 0;

	said[count++] = "a process that came and went between two readings of /proc was not seen";
	said[count++] =
		"of a process or a thread that has ended, what it cost after the last reading, and how it "
		"ended, is not known, unless it was the command or an orphan of it";
	said[count++] =
		"system calls by type, signals, and how many threads and children a process had";
	said[count++] = "memory at the beginning of a program, unless the watch began later";
	said[count++] = "input and output of processes that are another user's";
	if (order->command) {
		said[count++] = "the command's figures include its exec";
		said[count++] =
			"a descendant of the command whose parent has ended has the monitor as its parent while it "
			"is watched";
	}
	if (order->children > 1)
		said[count++] = "what the children cost that --children leaves out is not known";
	said[count] = NULL;
	return said;
}

const struct backend proc_backend = {
	.name = "proc",
	.probe = probe,
	.missing = missing,
	.begin = begin,
	.wait = wait_until,
	.read = read_all,
	.total = meters_total,
	.end = end,
};
