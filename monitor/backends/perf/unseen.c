/* unseen.c -- see perf.h: the kernel takes perf's events away from who executes a program that
 * changes rights or may not be read, and what that makes inherits none. Such processes are read in
 * /proc, now and then, until they have gone; so are the children that they have at that moment. */
#include <string.h>

#include "kernel/procfs.h"
#include "perf.h"

static void add(struct relative *one)
{
	one->is_unseen = 1;
	one->is_starting = 0;
	one->member.process.is_missed = 1;
	one->member.exits++; /* it will have an account, if we are told of accounts */
	perf.unseen++;
}

void unseen_begin(struct relative *one)
{
	lost[LOST_AT_EXEC]++;
	add(one);
}

static void find_child(pid_t pid, void *context)
{
	struct relative   *parent = context, *one;
	struct procfs_stat stat;
	uint64_t           since_ns = parent->member.process.watched_ns;

	if (family_find(pid) || procfs_stat_of(pid, 0, &stat))
		return;
	/* To a tick: but not before its parent. */
	one = relative(family_fork(parent->member.process.pid, pid,
	                           stat.begin_ns > since_ns ? stat.begin_ns : since_ns));
	one->origin = parent->origin;
	one->origin->open++;
	add(one);
	family_refresh(&perf.exits, &one->member);
}

static void look(struct relative *one)
{
	struct member *member = &one->member;

	if (!family_refresh(&perf.exits, member)) {
		procfs_children(member->process.pid, find_child, one);
	} else if (!procfs_hides(member->process.pid)) {
		member->running = 0;
		member->dead_ns = boottime_ns();
	}
}

void unseen_look(void)
{
	if (!perf.unseen)
		return;
	for (struct member *member = family_first(); member; member = member->next)
		if (relative(member)->is_unseen && member->running)
			look(relative(member));
}

/* Its counters until they were taken away; -1: it had none, or not all. */
static int counts_of(const struct relative *one, uint64_t counts[KINDS_MOST])
{
	if (is_origin(one))
		return shares_own(one->origin, counts);
	if (one->is_partial || one->reports < kinds.count)
		return -1;
	memcpy(counts, one->counts, sizeof one->counts);
	return 0;
}

void unseen_finish(struct relative *one)
{
	struct process *process = &one->member.process;
	uint64_t        counts[KINDS_MOST], read[FIGURES];

	memcpy(read, process->figure, sizeof read);
	if (!counts_of(one, counts))
		kinds_tell(process, counts);
	figures_raise(process->figure, read, ALL);
	process_cut_short(process, ALL);
	if (perf.exits.file >= 0 && one->member.accounts >= one->member.exits)
		family_take_sum(&one->member);
	process->threads = process->children = UNKNOWN;
	perf.unseen--;
}
