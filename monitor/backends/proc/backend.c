/* proc.c -- the monitor by looking into /proc: no privilege, no tracing, and nothing at all for the watched to do.
 *
 * Costs        the watched processes nothing. Us, at each look, one clock read for a process that has not run
 *              since the last, and some files for one that has.
 * Loses        what happens between two looks: a process that came and went is not seen; of one that has ended,
 *              all after the last look at it, unless it was our own child. lost_events has the processes whose end
 *              was missed, and one for each process that had a child which no look saw.
 * Beware       we are the subreaper of our command: a descendant whose parent has ended becomes our child, so that
 *              we find it, and learn what it cost to the end. getppid() then tells it our number; without us it would
 *              be that of init, or of the session's own subreaper.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "kernel/procfs.h"
#include "follow/meters.h"

enum { LOOK_NS = 100000000 /* where no interval is asked for */ };

static struct {
	const struct order *order;
	pid_t               command;
	uint64_t            next_look_ns; /* UNKNOWN: the readings are the looks */
	uint64_t            lost_events, unfollowed;
	char                our_program[16];
} s;

/* -- Births -- */

static void refresh_thread(pid_t thread, void *context)
{
	struct meter        *process = context;
	struct thread_meter *found = process->threads;
	struct procfs_stat  stat;
	int                 directory;

	while (found && found->thread != thread)
		found = found->next;
	if (!found) {
		directory = procfs_open(process->record.pid, thread);
		if (directory < 0)
			return;
		if (!procfs_stat(directory, &stat)) {
			found = meter_add_thread(process, thread, stat.begin_ns, sizeof *found);
			/* Of one that was attached, threads that come later are new. */
			if (process->has_begun)
				meter_begin_thread(found, now_ns(), 1);
		}
		close(directory);
	}
	if (found)
		found->is_there = 1;
}

/* Brings the list of its threads up to date. */
static void refresh_threads(struct meter *process, uint64_t now)
{
	for (struct thread_meter *thread = process->threads; thread; thread = thread->next)
		thread->is_there = 0;
	procfs_threads(process->record.pid, refresh_thread, process);
	for (struct thread_meter *thread = process->threads, *next; thread; thread = next) {
		next = thread->next;
		if (!thread->is_there)
			meter_end_thread(thread, now, -1);
	}
}

/* A process that is not seen yet. `parent` NULL: it was named, or is the command. NULL if it has gone. */
static struct meter *add(pid_t pid, struct meter *parent, int is_new)
{
	struct procfs_stat stat;
	struct meter       *process;
	int                directory = procfs_open(pid, 0);

	if (directory < 0 || procfs_stat(directory, &stat)) {
		if (directory >= 0)
			close(directory);
		return NULL;
	}
	process = meter_add(pid, parent, stat.begin_ns);
	process->directory = directory;
	process->run_ns = UNKNOWN; /* look at it, whatever its clock says */
	process->record.attached = !is_new;
	if (!parent)
		process->record.parent = stat.parent;
	refresh_threads(process, now_ns());
	meter_begin(process, now_ns(), is_new);
	if (is_new) /* it began before we saw it */
		process->record.figure[virtual_begin] = process->record.figure[memory_begin] = UNKNOWN;
	return process;
}

/* A child of one that is followed: so is the first, and then each so many. The others stay in the list, so that each
 * is passed over once. */
static void add_child(struct meter *parent, pid_t pid, int is_new)
{
	struct meter *child;

	if (pid == getpid() || pid == s.order->except || meter_find(pid))
		return;
	if (parent->children++ % s.order->children == 0) {
		add(pid, parent, is_new);
		return;
	}
	child = meter_add(pid, parent, now_ns());
	child->is_unfollowed = 1;
	child->directory = procfs_open(pid, 0);
	s.unfollowed++;
}

static void found_child(pid_t pid, void *context)
{
	add_child(context, pid, 1);
}

static void found_attached_child(pid_t pid, void *context)
{
	add_child(context, pid, 0);
}

/* One whose parent has ended: which that was is not known any more. */
static void found_orphan(pid_t pid, void *context)
{
	add_child(context, pid, 1);
}

/* -- Ends -- */

/* What its parent was told of it, if it waited for it: a parent that has more from its children had one that was not
 * seen. */
static void tell_parent(struct meter *process)
{
	struct meter       *parent = meter_find(process->record.parent);
	struct procfs_stat stat;

	if (!parent)
		return;
	if (!process->is_zombie || procfs_stat(process->directory, &stat))
		parent->has_lost_child = 1;
	else
		parent->children_faults += stat.faults_minor + stat.children_faults_minor;
}

static void compare_with_children(struct meter *process)
{
	struct procfs_clocks clocks;
	struct procfs_stat   stat;

	for (struct meter *child = meters_first; child; child = child->next)
		if (child->record.parent == process->record.pid && procfs_clocks(child->record.pid, &clocks))
			process->has_lost_child = 1; /* the next look at it will find that out */

	if (!process->has_lost_child && !process->record.attached && s.order->children == 1 &&
	    !procfs_stat(process->directory, &stat) && stat.children_faults_minor > process->children_faults)
		s.lost_events++;
}

static void finish(struct meter *process, uint64_t end_ns, int status)
{
	/* There may have been more than any look saw. */
	process->record.threads = UNKNOWN;
	process->record.children = UNKNOWN;
	meter_end(process, end_ns, status);
}

/* It has gone since the last look at it. */
static void lose(struct meter *process, uint64_t now)
{
	if (!process->is_unfollowed) {
		if (!process->is_zombie)
			s.lost_events++;
		tell_parent(process);
	}
	finish(process, now, -1);
}

/* -- Looks -- */

/* Returns whether it is still there. */
static int look(struct meter *process, uint64_t now)
{
	struct procfs_clocks clocks;
	struct procfs_stat   stat;

	if (procfs_clocks(process->record.pid, &clocks)) {
		lose(process, now);
		return 0;
	}
	/* One that has not run has done nothing, and made no child. */
	if (process->is_unfollowed || clocks.run_ns == process->run_ns)
		return 1;
	if (procfs_stat(process->directory, &stat)) {
		lose(process, now); /* its number is another's now */
		return 0;
	}
	process->run_ns = clocks.run_ns;
	if (stat.threads != 1 || !process->threads || process->threads->next)
		refresh_threads(process, now);
	if (meter_read(process, now)) {
		lose(process, now);
		return 0;
	}
	if (stat.state == 'Z') {
		process->is_zombie = 1;
		compare_with_children(process);
		tell_parent(process);
	} else {
		procfs_children(process->record.pid, found_child, process);
	}
	return 1;
}

static void look_at_all(uint64_t now)
{
	struct meter *command = s.command ? meter_find(s.command) : NULL;

	if (command)
		procfs_children(getpid(), found_orphan, command);
	for (struct meter *process = meters_first, *next; process; process = next) {
		next = process->next;
		if (look(process, now))
			next = process->next; /* which may be a child that this look has found */
	}
}

/* -- Our own children: the command, and its orphans -- */

static int is_failed_exec(const struct meter *process, const siginfo_t *told)
{
	return process->record.pid == s.command && told->si_code == CLD_EXITED && told->si_status >= 125 &&
	       told->si_status <= 127 && !strcmp(process->record.program, s.our_program);
}

/* A zombie, not reaped yet: all its figures are final. */
static void look_last(const siginfo_t *told, int status)
{
	struct meter *process = meter_find(told->si_pid);
	uint64_t     now = now_ns();

	if (!process) {
		found_orphan(told->si_pid, meter_find(s.command));
		process = meter_find(told->si_pid);
	}
	if (!process)
		return;
	if (!process->is_unfollowed && !meter_read(process, now)) {
		process->is_zombie = 1;
		compare_with_children(process);
	}
	if (is_failed_exec(process, told))
		process->is_unfollowed = 1; /* no program of theirs has run */
	finish(process, now, status);
}

static void reap(void)
{
	for (;;) {
		siginfo_t told = { 0 };
		int       status;

		if (waitid(P_ALL, 0, &told, WEXITED | WNOHANG | WNOWAIT) || !told.si_pid)
			return;
		status = told.si_code == CLD_EXITED ? told.si_status << 8
		                                    : told.si_status | (told.si_code == CLD_DUMPED ? 0x80 : 0);
		look_last(&told, status);
		waitpid(told.si_pid, &status, WNOHANG);
		if (told.si_pid == s.command) {
			outside.command_status = status;
			outside.command_ended = 1;
		}
	}
}

/* -- The seam -- */

/* A descriptor for each process stays open. */
static void allow_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void begin_families(void)
{
	/* The list grows while it is gone through. */
	for (struct meter *process = meters_first; process; process = process->next)
		if (!process->is_unfollowed)
			procfs_children(process->record.pid, found_attached_child, process);
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	struct meter *command;

	s.order = order;
	s.command = child;
	s.next_look_ns = order->every_ns ? UNKNOWN : now_ns() + LOOK_NS;
	meters_open(order);
	allow_files();
	if (child) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1) || !(command = add(child, NULL, 0))) {
			snprintf(why, why_room, "the command cannot be watched: %s", strerror(errno));
			return -1;
		}
		outside.backend_reaps = 1;
		command->record.attached = 0;
		memcpy(s.our_program, command->record.program, sizeof s.our_program);
		command->record.figure[virtual_begin] = command->record.figure[memory_begin] = UNKNOWN;
		return 0;
	}
	for (size_t i = 0; i < order->pid_count; i++)
		if (order->pids[i] != order->except && !meter_find(order->pids[i]) && !add(order->pids[i], NULL, 0))
			s.lost_events++; /* it has ended since it was named */
	if (!meters_first) {
		snprintf(why, why_room, "process %d has ended, or is hidden from us", (int)order->pids[0]);
		return -1;
	}
	begin_families();
	return 0;
}

static enum woken wait_until(uint64_t until_ns)
{
	for (;;) {
		uint64_t   wake_ns = s.next_look_ns < until_ns ? s.next_look_ns : until_ns, now;
		enum woken woken;

		outside_check();
		if (s.command)
			reap();
		if (outside.stop || outside.command_ended)
			return WOKEN_BY_SIGNAL;
		if (!meters_first)
			return WOKEN_BY_END;
		woken = wait_quietly(wake_ns, -1);
		now = now_ns();
		if (now >= s.next_look_ns) {
			look_at_all(now);
			s.next_look_ns = now + LOOK_NS;
		}
		if (woken == WOKEN_BY_CONTROL)
			return woken;
		if (now >= until_ns)
			return WOKEN_BY_TIME;
	}
}

static void read_all(uint64_t now)
{
	look_at_all(now);
	for (struct meter *process = meters_first; process; process = process->next)
		meter_write_reading(process, now);
}

static void end(struct account *account)
{
	if (s.command)
		reap();
	look_at_all(now_ns());
	while (meters_first)
		finish(meters_first, UNKNOWN, -1);
	meters_total(&account->total);
	account->hits = 0;
	account->maps_bytes = 0;
	account->lost_slots = 0;
	account->lost_events = s.lost_events;
	account->unfollowed = s.unfollowed;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
	struct procfs_clocks clocks;
	struct procfs_stat   stat;
	const char          *reason = NULL;
	int                  directory = procfs_open(getpid(), 0);

	if (directory < 0 || procfs_stat(directory, &stat) || procfs_clocks(getpid(), &clocks))
		reason = "/proc is not there";
	else if (order->detail != LIFE)
		reason = "calls cannot be seen in /proc: only detail life can be had from it";
	else if (order->cgroup)
		reason = "it follows processes and their descendants, not cgroups";
	else if (order->prove)
		reason = "there is no hook that could be taken away for a moment";
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

	said[count++] = "a process that came and went between two looks was not seen";
	said[count++] = "of a process or a thread that has ended, what it cost after the last look at it, and how it ended, "
	                "is not known, unless it was the command or an orphan of it";
	said[count++] = "system calls by type, signals, and how many threads and children a process had";
	said[count++] = "memory at the beginning of a program, unless the watch began later";
	said[count++] = "input and output of processes that are another user's";
	if (order->command) {
		said[count++] = "the command's figures include its exec";
		said[count++] = "a descendant of the command whose parent has ended has the monitor as its parent while it "
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
