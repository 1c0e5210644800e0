/* backend.c -- the monitor by taskstats: the kernel's account of every task at its end, of
 * processes that the kernel's messages of births, execs and ends (the proc connector) show to be
 * ours. Nothing is attached to anybody.
 *
 * Needs    CAP_NET_ADMIN in the first user and process namespace; Linux 5.19.
 * Costs    two messages at each birth and end of a task anywhere on the machine, to us; nothing in
 *          between.
 * Loses    messages when we are too slow: in lost_events; a process of which a thread's account was
 *          lost says nothing of itself. Run time since the last timer tick before a thread's end:
 *          the kernel reads the account before it brings it up to date.
 */
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "kernel/clocks.h"
#include "kernel/exits.h"
#include "kernel/snapshot.h"
#include "monitor.h"
#include "follow/family.h"

enum { SOCKET_BUFFER = 16 << 20 };
/* How often the sockets are emptied. They hold what some 10,000 births and ends say. */
static const uint64_t PACE_NS = 50000000;
/* How often those are checked that should be alive: a lost message must not make them immortal. */
static const uint64_t SWEEP_NS = 1000000000;

static struct {
	struct exits   exits;
	int            events;
	struct account account;
	int64_t        suspended_ns; /* of CLOCK_BOOTTIME, to the clock of the messages */
	uint64_t       swept_ns;
	pid_t          command;
	int            command_runs; /* its own program, not yet ours */
	const char    *command_name; /* as the kernel will have it */
	const char    *cgroup;       /* that is watched; NULL */
} s = { .exits = { .file = -1, .asking = -1 }, .events = -1 };

/* -- The proc connector -- */

static int next_event(struct proc_event *event)
{
	for (;;) {
		_Alignas(struct nlmsghdr) char buffer[1024];
		ssize_t              count = recv(s.events, buffer, sizeof buffer, MSG_DONTWAIT);
		const struct cn_msg *message = (const void *)(buffer + NLMSG_HDRLEN);

		if (count < 0 && errno == ENOBUFS) {
			lost[LOST_EVENTS]++;
			continue;
		}
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return 0;
		if (count < (ssize_t)(NLMSG_HDRLEN + sizeof *message) ||
		    message->id.idx != CN_IDX_PROC)
			continue;
		/* An event is longer or shorter by its kind and by the kernel's version. */
		memset(event, 0, sizeof *event);
		memcpy(event, message->data,
		       message->len < sizeof *event ? message->len : sizeof *event);
		return 1;
	}
}

static void close_events(void)
{
	if (s.events >= 0)
		close(s.events);
	s.events = -1;
}

static int open_events(char *why, size_t room)
{
	struct sockaddr_nl us = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	struct nlmsghdr    netlink = { .nlmsg_type = NLMSG_DONE };
	struct cn_msg connector = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(uint32_t) };
	uint32_t      operation = PROC_CN_MCAST_LISTEN;
	struct iovec  parts[] = {
		{ &netlink, sizeof netlink },
		{ &connector, sizeof connector },
		{ &operation, sizeof operation },
	};
	struct proc_event event;
	int               size = SOCKET_BUFFER;

	s.events = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	if (s.events < 0 || bind(s.events, (struct sockaddr *)&us, sizeof us)) {
		snprintf(why, room, "the kernel's messages of births and ends (proc connector): %s",
		         strerror(errno));
		close_events();
		return -1;
	}
	if (setsockopt(s.events, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
		setsockopt(s.events, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	/* The kernel acknowledges before send returns; in another process namespace it says
	 * nothing. */
	netlink.nlmsg_len = sizeof netlink + sizeof connector + sizeof operation;
	if (writev(s.events, parts, 3) == (ssize_t)netlink.nlmsg_len)
		while (next_event(&event))
			if (event.what == PROC_EVENT_NONE && !event.event_data.ack.err)
				return 0;
	snprintf(
		why, room,
		"the kernel sends no messages of births and ends (proc connector) here: it does so in the "
		"first process namespace alone");
	close_events();
	return -1;
}

/* -- What the messages say -- */

static uint64_t boottime_of(const struct proc_event *event)
{
	return event->timestamp_ns + (uint64_t)s.suspended_ns;
}

/* Of those that we found running, messages from before then may still be under way. */
static struct member *ours(pid_t pid, uint64_t at_ns)
{
	struct member *member = family_find(pid);

	return member && member->process.attached && at_ns < member->process.watched_ns ? NULL
	                                                                                : member;
}

static void take_fork(const struct proc_event *event)
{
	uint64_t       at_ns = boottime_of(event);
	pid_t          process = event->event_data.fork.child_tgid;
	pid_t          parent = event->event_data.fork.parent_tgid;
	struct member *member;

	if (event->event_data.fork.child_pid == process) {
		member = family_find(process);
		if (!member || !member->process.attached || at_ns > member->process.watched_ns)
			family_fork(parent, process, at_ns);
		return;
	}
	member = ours(process, at_ns);
	if (!member)
		return;
	member->running++;
	member->process.threads++;
}

static void take_exec(const struct proc_event *event)
{
	struct member *member = family_find(event->event_data.exec.process_tgid);
	struct process now;

	if (!member)
		return;
	process_clear(&now);
	snapshot_of(member->process.pid, &now);
	if (member->process.pid == s.command && s.command_runs) {
		s.command_runs = 0;
		member->process.watched_ns = boottime_of(event);
		/* It may be gone by now, and its children have its name. */
		family_program(member, *now.program ? now.program : s.command_name, 0);
	} else {
		family_program(member, now.program, 1);
	}
}

static void take_exit(const struct proc_event *event)
{
	struct member *member = ours(event->event_data.exit.process_tgid, boottime_of(event));

	if (!member)
		return;
	family_thread_ends(member, boottime_of(event));
	/* All threads of a group that ends at once have its status; else the last one has. */
	member->process.status = (int)event->event_data.exit.exit_code;
}

static void take_events(void)
{
	struct proc_event event;

	s.suspended_ns = clocks_suspended_ns();
	while (next_event(&event))
		switch (event.what) {
		case PROC_EVENT_FORK:
			take_fork(&event);
			break;
		case PROC_EVENT_EXEC:
			take_exec(&event);
			break;
		case PROC_EVENT_EXIT:
			take_exit(&event);
			break;
		default:
			break;
		}
}

/* -- From messages to records -- */

static void finish(struct member *member)
{
	if (!member->exits)
		lost[LOST_EVENTS]++;
	else if (member->accounts < member->exits)
		lost[LOST_EVENTS] += member->exits - member->accounts;
	member->process.is_missed |= !member->exits || member->accounts < member->exits;
	family_sum_up(member);
	/* The account is as old as the last tick. */
	member->process.at_least |= UINT32_C(1) << cpu_user_ns | UINT32_C(1) << cpu_system_ns |
	                            UINT32_C(1) << run_ns;
	family_write(member);
}

/* Takes what has come, and writes a record of those that ended. */
static void take_all(int is_last)
{
	struct member *next;
	uint64_t       now;
	int            is_sweep;

	/* In this order an ended task's account is there when its end is known. */
	take_events();
	family_take_accounts(&s.exits);
	now = boottime_ns();
	is_sweep = is_last || now - s.swept_ns >= SWEEP_NS;
	if (is_sweep)
		s.swept_ns = now;
	for (struct member *member = family_first(); member; member = next) {
		next = member->next;
		if (!family_is_dead(member, is_sweep) ||
		    (!is_last && family_awaits_account(member)))
			continue;
		if ((member->exits && member->accounts >= member->exits) ||
		    now - member->dead_ns > 2 * PACE_NS || is_last)
			finish(member);
	}
}

/* -- The backend -- */

static int probe(const struct order *order, char *why, size_t why_room)
{
	struct exits        exits;
	struct task_account own;
	int                 knows_processes;

	if (order->detail != LIFE) {
		snprintf(why, why_room, "taskstats does not count system calls: use --detail life");
		return -1;
	}
	if (order->threads || order->prove) {
		snprintf(
			why, why_room,
			"taskstats has neither records of threads nor a hook to measure the impact of");
		return -1;
	}
	if (exits_open(&exits, why, why_room))
		return -1;
	knows_processes = !exits_ask(&exits, getpid(), &own) && own.pid == getpid();
	exits_close(&exits);
	if (!knows_processes) {
		snprintf(
			why, why_room,
			"this kernel's taskstats do not say which process a thread is of: that is so from "
			"Linux 5.19, in the first process namespace");
		return -1;
	}
	if (open_events(why, why_room))
		return -1;
	close_events();
	return 0;
}

static const char *const *missing(const struct order *order)
{
	static const char *sentences[] = {
		"System calls by type: taskstats does not count them.",
		"Processor time from the last timer tick before a thread's end to that end: up to some milliseconds a "
		"thread, which is all of it for the shortest-lived.",
		"The switch that ends a thread; time blocked; signals; how often it read and wrote.",
		"Input and output below a whole KiB of each thread: the kernel rounds it down.",
		"Memory at the beginning and at the end of processes that begin or end while watched: only the peak.",
		NULL,
		NULL,
	};
	if (order->cgroup)
		sentences[sizeof sentences / sizeof *sentences - 2] =
			"Processes that come into the control group from outside while it is watched.";
	return sentences;
}

/* Until a pass over /proc finds no new process: births since the first are in the socket as well.
 */
static void attach_all(const pid_t pids[], size_t count)
{
	while (family_attach_all(&s.exits, pids, count))
		;
}

static void attach_cgroup(const char *directory)
{
	pid_t *pids;
	size_t count = cgroup_members(directory, &pids);

	attach_all(pids, count);
	free(pids);
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	memset(&s.account, 0, sizeof s.account);
	s.cgroup = order->cgroup;
	family_begin(order, &s.account, sizeof(struct member));
	if (exits_open(&s.exits, why, why_room))
		return -1;
	if (open_events(why, why_room)) {
		exits_close(&s.exits);
		return -1;
	}
	s.swept_ns = boottime_ns();
	if (child) {
		family_attach_command(&s.exits, child);
		s.command = child;
		s.command_runs = 1;
		s.command_name = strrchr(order->command[0], '/');
		s.command_name = s.command_name ? s.command_name + 1 : order->command[0];
	}
	if (order->cgroup)
		attach_cgroup(order->cgroup);
	if (order->pid_count)
		attach_all(order->pids, order->pid_count);
	return 0;
}

static enum woken wait(uint64_t until_ns)
{
	return family_wait(until_ns, PACE_NS, take_all);
}

static int refresh(struct member *member)
{
	return family_refresh(&s.exits, member);
}

static void read_all(uint64_t at_ns)
{
	take_all(0);
	family_write_readings(at_ns, refresh);
}

static uint64_t total(struct process *sum)
{
	take_all(0);
	return family_total(sum, refresh);
}

static int is_waited_for(struct member *member)
{
	return family_is_dead(member, 1) || member->gone_ns != UNKNOWN;
}

static void end(struct account *account)
{
	struct member *member;
	struct process sum;

	process_clear(&sum);
	total(&sum);
	family_wait_for_the_last(take_all, is_waited_for);
	take_all(1);
	family_check_cgroup(s.cgroup);
	while ((member = family_first())) {
		if (refresh(member))
			finish(member);
		else
			family_write(member);
	}
	exits_close(&s.exits);
	close_events();
	s.account.hook_ns = s.account.hits = s.account.hits_of_all = s.account.maps_bytes = UNKNOWN;
	s.account.total = sum;
	*account = s.account;
}

const struct backend taskstats_backend = {
	.name = "taskstats",
	.probe = probe,
	.missing = missing,
	.begin = begin,
	.wait = wait,
	.read = read_all,
	.total = total,
	.end = end,
};
