/* family.c -- see family.h. */
#include "follow/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "draw.h"
#include "kernel/cgroup.h"
#include "kernel/procfs.h"
#include "kernel/snapshot.h"

enum { BUCKETS = 4096, THREADS_MOST = 4096 };
/* For messages of what /proc knows already. */
static const uint64_t PATIENCE_NS = 1000000000;

struct early {
	struct task_account account;
	uint64_t            round;
};

static struct member  *buckets[BUCKETS];
static struct member  *first;
static struct account *ours;
static uint32_t        one_in, drawn_from;
static pid_t           excepted;   /* who reads us */
static uint64_t        born, seed; /* children so far, and of the draws who is followed */
static size_t          member_size;
static struct process  written; /* all of them, as one */
static uint64_t        members; /* there were and are */

/* Accounts whose process is not known: of others, or of a child whose birth is still on its way. */
static struct {
	struct early *list;
	size_t        count, room;
	uint64_t      round;
} early;

static struct member **place_of(pid_t pid)
{
	struct member **place = &buckets[(uint32_t)pid % BUCKETS];

	while (*place && (*place)->process.pid != pid)
		place = &(*place)->in_bucket;
	return place;
}

static void drop(struct member *member)
{
	*place_of(member->process.pid) = member->in_bucket;
	if (member->before)
		member->before->next = member->next;
	else
		first = member->next;
	if (member->next)
		member->next->before = member->before;
	process_free_calls(&member->process);
	process_free_calls(&member->reported);
	free(member);
}

void family_begin(const struct order *order, struct account *account, size_t size)
{
	one_in = order->children;
	drawn_from = order->drawn_from;
	seed = order->seed;
	excepted = order->except;
	ours = account;
	member_size = size;
	while (first) /* of a backend that failed to begin */
		drop(first);
	members = 0;
	process_clear(&written);
	figures_forget(account->unfollowed_figure, ALL);
}

struct member *family_first(void)
{
	return first;
}

struct member *family_find(pid_t pid)
{
	return *place_of(pid);
}

struct member *family_add(pid_t pid)
{
	struct member **place = place_of(pid);
	struct member  *member;

	/* Its number has been given away again: what is known of the first one has to do. */
	if (*place)
		family_write(*place);
	place = place_of(pid);
	member = calloc(1, member_size);
	if (!member)
		no_memory();
	process_clear(&member->process);
	process_clear(&member->reported);
	figures_forget(member->account.figure, ALL);
	member->process.pid = pid;
	member->process.children = 0;
	member->process.threads = 1;
	member->running = 1;
	member->dead_ns = member->gone_ns = UNKNOWN;
	member->next = first;
	if (first)
		first->before = member;
	first = member;
	*place = member;
	members++;
	return member;
}

struct member *family_fork(pid_t parent, pid_t child, uint64_t at_ns)
{
	struct member *from = family_find(parent);
	struct member *member;

	if (!from)
		return NULL;
	from->process.children++;
	member = family_add(child);
	member->process.parent = parent;
	member->process.generation = from->process.generation + 1;
	member->process.begin_ns = member->process.watched_ns = at_ns;
	memcpy(member->process.program, from->process.program, sizeof member->process.program);
	member->left_out = from->left_out || (member->process.generation >= drawn_from &&
	                                      !draw_follows(seed, born++, one_in));
	return member;
}

void family_forget_memory(struct member *member)
{
	figures_forget(member->process.figure, LEVELS);
	figures_forget(member->account.figure, LEVELS);
}

void family_program(struct member *member, const char *name, int by_exec)
{
	if (by_exec) {
		memcpy(member->process.program_before, member->process.program,
		       sizeof member->process.program_before);
		family_forget_memory(member);
	}
	snprintf(member->process.program, sizeof member->process.program, "%s", name);
}

void family_thread_ends(struct member *member, uint64_t at_ns)
{
	member->exits++;
	if (member->running && --member->running == 0)
		member->dead_ns = at_ns;
}

void family_check_cgroup(const char *directory)
{
	pid_t *pids;
	size_t count = directory ? cgroup_members(directory, &pids) : 0;

	for (size_t i = 0; i < count; i++)
		if (!family_find(pids[i]) && pids[i] != excepted && pids[i] != getpid())
			lost[LOST_FROM_GROUP]++;
	if (directory)
		free(pids);
}

int family_awaits_account(const struct member *member)
{
	return member->process.pid == outside.command && !outside.command_ended;
}

void family_write(struct member *member)
{
	member->process.end_ns = member->dead_ns != UNKNOWN ? member->dead_ns : member->gone_ns;
	if (member->process.pid == outside.command && outside.command_ended) {
		command_complete(&member->process);
		if (command_failure()) { /* no program of theirs has run */
			members--;
			drop(member);
			return;
		}
	}
	if (member->left_out) {
		ours->unfollowed++;
		figures_add(ours->unfollowed_figure, member->process.figure, SUMS);
	} else {
		write_process(&member->process);
	}
	process_add(&written, &member->process);
	drop(member);
}

struct member *family_attach(struct exits *exits, pid_t pid)
{
	static pid_t   threads[THREADS_MOST];
	struct member *member = family_add(pid);
	size_t         count;

	member->process.attached = 1;
	member->process.watched_ns = boottime_ns();
	if (snapshot_of(pid, &member->process)) {
		member->running = 0;
		member->dead_ns = member->process.watched_ns;
		return member;
	}
	count = snapshot_threads(pid, threads, THREADS_MOST);
	member->running = count;
	if (count == THREADS_MOST)
		lost[LOST_EVENTS]++; /* there may be more */
	for (size_t i = 0; i < count && exits->file >= 0; i++) {
		struct task_account account;

		if (!exits_ask(exits, threads[i], &account))
			figures_add(member->base, account.figure, SUMS);
	}
	memcpy(member->first, member->process.figure, sizeof member->first);
	figures_forget(member->process.figure, SUMS);
	figures_begin(member->process.figure);
	return member;
}

struct member *family_attach_command(struct exits *exits, pid_t pid)
{
	struct member *member = family_attach(exits, pid);

	member->process.attached = 0;
	family_forget_memory(member); /* of our own program */
	return member;
}

size_t family_attach_all(struct exits *exits, const pid_t pids[], size_t count)
{
	struct kin *kin;
	size_t      found = snapshot_descendants(pids, count, &kin);
	size_t      added = 0;

	for (size_t i = 0; i < found; i++) {
		struct member *member;

		if (family_find(kin[i].pid) || kin[i].pid == excepted || kin[i].pid == getpid())
			continue;
		member = family_attach(exits, kin[i].pid);
		member->process.generation = kin[i].generation;
		added++;
	}
	free(kin);
	return added;
}

static int take_account(const struct task_account *account)
{
	struct member *member = family_find(account->pid);

	if (!member)
		return 0;
	figures_add(member->account.figure, account->figure, ALL);
	member->accounts++;
	if (account->thread == account->pid) {
		memcpy(member->process.program, account->program, sizeof member->process.program);
		member->process.status = account->exit_code;
	}
	return 1;
}

static void keep_early(const struct task_account *account)
{
	early.list = list_grow(early.list, early.count, &early.room, sizeof *early.list);
	early.list[early.count++] = (struct early){ *account, early.round };
}

void family_take_accounts(struct exits *exits)
{
	struct task_account account;
	size_t              kept = 0;

	if (exits->file < 0)
		return;
	early.round++;
	for (size_t i = 0; i < early.count; i++)
		if (!take_account(&early.list[i].account) && early.list[i].round + 2 >= early.round)
			early.list[kept++] = early.list[i];
	early.count = kept;
	while (exits_next(exits, &account))
		if (!take_account(&account))
			keep_early(&account);
}

static void take_accounts_of(struct member *member, const uint64_t figure[FIGURES])
{
	uint64_t since[FIGURES];

	memcpy(since, figure, sizeof since);
	figures_subtract(since, member->base, SUMS);
	figures_split_time(since);
	figures_take(member->process.figure, since, SUMS);
	/* A peak may be known better already: the kernel brings it up to date late. */
	figures_add(member->process.figure, since, PEAK);
}

/* Whether that number is still this process's. The message of its birth may bear a later time than
 * /proc does: its parent may have been kept from sending it. */
static int is_same(const struct member *member, const struct process *now)
{
	uint64_t begin_ns = member->process.begin_ns;

	return now->begin_ns < begin_ns + PATIENCE_NS && begin_ns < now->begin_ns + PATIENCE_NS;
}

static void take_snapshot(struct member *member, const struct process *now)
{
	uint64_t since[FIGURES];

	memcpy(since, now->figure, sizeof since);
	figures_subtract(since, member->first, SUMS);
	figures_take(member->process.figure, since, SUMS | END | PEAK);
}

int family_refresh(struct exits *exits, struct member *member)
{
	static pid_t   threads[THREADS_MOST];
	uint64_t       sum[FIGURES];
	struct process now;
	size_t         count;

	process_clear(&now);
	if (snapshot_of(member->process.pid, &now) || !is_same(member, &now))
		return -1;
	memcpy(member->process.program, now.program, sizeof now.program);
	if (exits->file >= 0) {
		memcpy(sum, member->account.figure, sizeof sum);
		count = snapshot_threads(member->process.pid, threads, THREADS_MOST);
		for (size_t i = 0; i < count; i++) {
			struct task_account account;

			if (!exits_ask(exits, threads[i], &account))
				figures_add(sum, account.figure, ALL);
		}
		take_accounts_of(member, sum);
	}
	/* The process's own clock is up to date, where the threads' accounts wait for the next
	 * tick. */
	take_snapshot(member, &now);
	return 0;
}

void family_sum_up(struct member *member)
{
	/* What it had at some moment before, as a peak may be, is not what it had in all. */
	if (member->exits && member->accounts >= member->exits) {
		figures_forget(member->process.figure, SUMS | END);
		take_accounts_of(member, member->account.figure);
	} else {
		figures_forget(member->process.figure, SUMS | END | PEAK);
	}
}

void family_take_sum(struct member *member)
{
	struct process *process = &member->process;
	uint64_t        since[FIGURES];

	memcpy(since, member->account.figure, sizeof since);
	figures_subtract(since, member->base, SUMS);
	for (int i = 0; i < FIGURES; i++)
		if (since[i] != UNKNOWN && figures[i].kind & (SUMS | PEAK))
			process->at_least &= ~(UINT32_C(1) << i);
	take_accounts_of(member, member->account.figure);
}

int family_is_dead(struct member *member, int checks_proc)
{
	struct process now;
	pid_t          threads[64];

	if (!member->running && !member->process.attached)
		return 1;
	if (member->running && !checks_proc)
		return 0;
	process_clear(&now);
	if (procfs_hides(member->process.pid)) {
		if (!member->running)
			member->running = 1;
		if (!member->process.is_missed)
			lost[LOST_FROM_SIGHT]++;
		member->process.is_missed = 1;
		member->dead_ns = member->gone_ns = UNKNOWN;
		return 0;
	}
	if (!snapshot_of(member->process.pid, &now) && is_same(member, &now)) {
		if (!member->running)
			member->running = snapshot_threads(member->process.pid, threads, 64);
		member->dead_ns = member->gone_ns = UNKNOWN;
		return 0;
	}
	if (!member->running)
		return 1;
	/* The message may be on its way still. */
	if (member->gone_ns == UNKNOWN)
		member->gone_ns = boottime_ns();
	if (boottime_ns() - member->gone_ns < PATIENCE_NS)
		return 0;
	member->running = 0;
	member->dead_ns = member->gone_ns;
	return 1;
}

enum woken family_wait(uint64_t until_ns, uint64_t step_ns, void (*take)(int))
{
	for (;;) {
		uint64_t   pace_ns = boottime_ns() + step_ns;
		enum woken woken;

		take(0);
		if (!family_first() && (!outside.command || outside.command_ended))
			return WOKEN_BY_END;
		woken = wait_quietly(pace_ns < until_ns ? pace_ns : until_ns, -1);
		if (woken != WOKEN_BY_TIME || pace_ns >= until_ns)
			return woken;
	}
}

void family_wait_for_the_last(void (*take)(int), int (*is_waited_for)(struct member *))
{
	for (int i = 0; i < 20; i++) {
		int is_waiting = 0;

		take(0);
		for (struct member *member = first; member; member = member->next)
			is_waiting |= is_waited_for(member);
		if (!is_waiting)
			return;
		usleep(2000);
	}
}

void family_write_readings(uint64_t at_ns, int (*refresh)(struct member *))
{
	for (struct member *member = first; member; member = member->next) {
		if (member->left_out || refresh(member))
			continue;
		write_reading(at_ns, &member->process, &member->reported);
		process_free_calls(&member->reported);
		process_copy(&member->reported, &member->process);
	}
}

uint64_t family_total(struct process *sum, int (*refresh)(struct member *))
{
	process_add(sum, &written);
	for (struct member *member = first; member; member = member->next) {
		refresh(member);
		process_add(sum, &member->process);
	}
	figures_forget(sum->figure, LEVELS);
	return members;
}
