/* shares.c -- see perf.h: what each process has counted, of the sums that whole families have
 * counted. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* A record may come this long after the time that it bears. */
#define LATE_NS UINT64_C(1000000)

struct report {
	struct origin *origin;
	size_t         kind;
	pid_t          pid;
	uint64_t       value, came_ns;
};

static struct {
	struct report *list;
	size_t         count, room;
	uint64_t       swept_ns;
} s;

static void take_reads(uint64_t now)
{
	for (size_t i = 0; i < perf.roots; i++)
		for (size_t kind = 0; kind < kinds.count; kind++) {
			struct origin *origin = perf.root[i].origin;
			union raw      raw;

			while (perf.root[i].ring[kind].page &&
			       ring_next(&perf.root[i].ring[kind], &raw)) {
				if (raw.header.type == PERF_RECORD_LOST) {
					lost[LOST_EVENTS] += raw.lost.lost;
					origin->is_torn = 1;
				}
				/* What its own threads counted remains its own. */
				if (raw.header.type != PERF_RECORD_READ ||
				    (pid_t)raw.read.pid == origin->pid)
					continue;
				origin->outside[kind] += raw.read.value;
				s.list = list_grow(s.list, s.count, &s.room, sizeof *s.list);
				s.list[s.count++] = (struct report){
					origin, kind, (pid_t)raw.read.pid, raw.read.value, now,
				};
			}
		}
}

/* To the processes that they are of, whose births may be told later. */
static void deal_reads(uint64_t now, int is_last)
{
	size_t kept = 0;

	for (size_t i = 0; i < s.count; i++) {
		struct report   *report = &s.list[i];
		struct relative *one = relative(family_find(report->pid));

		if (one && one->origin && !is_origin(one)) {
			one->counts[report->kind] += report->value;
			one->reports++;
		} else if (!is_last && now - report->came_ns < SWEEP_NS) {
			s.list[kept++] = *report;
		} else {
			lost[LOST_EVENTS]++;
		}
	}
	s.count = kept;
}

/* What a process of roots has counted itself: known while nothing that it made has yet to say what
 * it did. */
int shares_own(const struct origin *origin, uint64_t counts[KINDS_MOST])
{
	size_t roots = 0;

	if (origin->open || origin->is_torn)
		return -1;
	memset(counts, 0, KINDS_MOST * sizeof *counts);
	for (size_t i = 0; i < perf.roots; i++)
		if (perf.root[i].origin == origin && perf.root[i].file[kinds.count - 1] >= 0) {
			root_read(&perf.root[i], counts);
			roots++;
		}
	if (!roots)
		return -1;
	for (size_t i = 0; i < kinds.count; i++)
		counts[i] -= origin->outside[i];
	return 0;
}

/* Everything that it will ever say has come. */
static int is_complete(const struct relative *one)
{
	const struct member *member = &one->member;

	if (perf.exits.file >= 0 && member->accounts < member->exits)
		return 0;
	if (one->is_unseen)
		return 1;
	if (one->is_partial)
		return boottime_ns() - member->dead_ns > 4 * PACE_NS && member->dead_ns != UNKNOWN;
	return is_origin(one) ? !one->origin->open : one->reports >= member->exits * kinds.count;
}

void shares_finish(struct relative *one)
{
	struct member  *member = &one->member;
	struct process *process = &member->process;
	uint64_t        counts[KINDS_MOST];

	if (!one->is_unseen)
		family_sum_up(member);
	if (one->is_unseen) {
		unseen_finish(one);
		if (is_origin(one))
			one->origin->member = NULL;
		else
			one->origin->open--;
	} else if (is_origin(one)) {
		if (!shares_own(one->origin, counts))
			kinds_tell(process, counts);
		one->origin->member = NULL;
	} else {
		uint64_t due = (member->exits ? member->exits : 1) * kinds.count;

		if (!one->is_partial && member->exits && one->reports >= due) {
			kinds_tell(process, one->counts);
		} else if (!one->is_partial) {
			lost[LOST_EVENTS] += due > one->reports ? due - one->reports : 1;
			process->is_missed = 1;
			one->origin->is_torn = 1;
		}
		one->origin->open--;
	}
	/* The last switch of all, which a process makes once it is dead, finds no counter. (Those
	 * of its other threads come after their counts were added to its own: the kernel forgets
	 * them too.) */
	if (!one->is_unseen && !kinds.is_user_only &&
	    process->figure[switches_voluntary] != UNKNOWN)
		process->figure[switches_voluntary]++;
	if (process->pid == outside.command && outside.command_ended)
		process->status = outside.command_status;
	perf.ended++;
	family_write(member);
}

void shares_take(int is_last)
{
	uint64_t       now = boottime_ns();
	int            is_sweep = is_last || now - s.swept_ns >= SWEEP_NS;
	struct member *next;

	/* In this order a thread's end is known when its counts are. */
	take_reads(now);
	events_take(is_last ? UNKNOWN : now - LATE_NS);
	family_take_accounts(&perf.exits);
	deal_reads(now, is_last);
	unseen_look();
	if (is_sweep)
		s.swept_ns = now;
	/* The youngest stand first: what a process has made is finished before it. */
	for (struct member *member = family_first(); member; member = next) {
		struct relative *one = relative(member);
		int              is_late;

		next = member->next;
		if (!family_is_dead(member, is_sweep) ||
		    (!is_last && family_awaits_account(member)))
			continue;
		is_late = is_last || (member->dead_ns < now && now - member->dead_ns > SWEEP_NS);
		if (is_complete(one) ||
		    (is_late && !(is_origin(one) && one->origin->open && !is_last)))
			shares_finish(one);
	}
}
