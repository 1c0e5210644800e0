/* group.c -- see group.h. */
#include "group.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/numbers.h"
#include "../../base/record.h"
#include "../api/system.h"
#include "../cpu/linp.h"

enum {
	MARKS = 16,
	WHY_ROOM = 120,
	PAGE = 4096,
	KEPT_MOST = 1000,
	PROCESSORS_MOST = 1024,
	GATE = 3
};

#define UNKNOWN UINT64_MAX

/* What a member writes of itself. */
struct slot {
	uint64_t began_ns, ended_ns; /* 0 until then */
	uint64_t marks_ns[MARKS];    /* when it had done 1/16, 2/16, ... of its iterations */
	char     why[WHY_ROOM];      /* it did not finish */
};

struct shared {
	struct group_order order;
	struct slot        slots[];
};

/* What the starter knows of a member. */
struct seen {
	pthread_t          thread;
	uint64_t           asked_ns, reaped_ns; /* UNKNOWN if not */
	struct process_end end;
	int                error; /* why it could not be created */
};

struct group {
	const char        *metric;
	struct group_order order;
	struct shared     *shared;
	size_t             shared_bytes;
	intptr_t           handle; /* of what is shared */
	int                is_shared;
	int                gate[2]; /* ends when all may begin */
	struct seen       *seen;
	struct process    *processes;
	uint64_t           created, finished;
};

static struct group kept[KEPT_MOST];
static int          kept_count;

/* The processor of a member that is pinned, and 1; 0 if there is none to be chosen. */
static int processor_of(uint64_t index)
{
	int usable[PROCESSORS_MOST], count = processors_usable(usable, PROCESSORS_MOST);

	return count > 0 ? usable[index % (uint64_t)count] + 1 : 0;
}

static int niceness_of(const struct group_order *order, uint64_t index)
{
	return index % 2 ? (int)order->nice : 0;
}

/* A member's work. */

/* One word in each page: as little work of its own as brings them all in. */
static void write_through(volatile char *area, uint64_t bytes, uint64_t turn)
{
	for (uint64_t i = 0; i < bytes; i += PAGE)
		area[i] = (char)turn;
}

static void wait_at(int gate)
{
	char byte;

	while (gate >= 0 && read(gate, &byte, 1) < 0 && errno == EINTR)
		;
}

static int solve_all(const struct group_order *order, struct slot *slot, linp_function *solve,
                     char *area)
{
	uint64_t done = 0;

	for (uint64_t mark = 0; mark < MARKS; mark++) {
		for (uint64_t until = order->iterations * (mark + 1) / MARKS; done < until;
		     done++) {
			double residual;

			write_through(area, order->memory * 1024, done);
			residual = solve();
			if (!linp_is_right(residual))
				return fail_check("the residual is %g units of rounding", residual);
		}
		slot->marks_ns[mark] = clock_ns();
	}
	return 0;
}

static int work(struct shared *shared, uint64_t index, int gate)
{
	const struct group_order *order = &shared->order;
	struct slot              *slot = &shared->slots[index];
	void                     *callable = NULL;
	linp_function            *solve;
	char                     *area = NULL;
	int                       outcome = machine_code_map(&linp_code, &callable);

	if (outcome)
		return outcome;
	*(void **)(void *)&solve = callable;
	if (order->memory) {
		if (!(area = memory_take(order->memory * 1024)))
			return fail("taking its memory");
		if (order->together)
			write_through(area, order->memory * 1024, 0);
	}
	wait_at(gate);
	slot->began_ns = clock_ns();
	outcome = solve_all(order, slot, solve, area);
	if (!outcome)
		slot->ended_ns = slot->marks_ns[MARKS - 1];
	if (area)
		memory_give(area, order->memory * 1024);
	machine_code_unmap(&linp_code, &callable);
	return outcome;
}

int group_member_main(int argc, char *argv[])
{
	uint64_t       handle, bytes, index;
	struct shared *shared;
	int            outcome;

	if (argc != 3 || parse_number(argv[0], &handle) || parse_number(argv[1], &bytes) ||
	    parse_number(argv[2], &index))
		return 2;
	shared = shared_open((intptr_t)handle, bytes);
	if (!shared)
		return 1;
	if (shared->order.together || shared->order.memory)
		memory_offer();
	outcome = stack_take(linp_code.stack);
	if (!outcome)
		outcome = work(shared, index, shared->order.together ? GATE : -1);
	if (outcome)
		snprintf(shared->slots[index].why, WHY_ROOM, "%s", outcome_why());
	return outcome ? 1 : 0;
}

/* The starter's side. */

static int share(struct group *group)
{
	group->shared_bytes = sizeof(struct shared) + group->order.processes * sizeof(struct slot);
	group->shared = shared_make(group->shared_bytes, &group->handle);
	if (!group->shared)
		return fail("making memory to be shared");
	group->is_shared = 1;
	group->shared->order = group->order;
	group->seen = calloc(group->order.processes, sizeof(*group->seen));
	group->processes = calloc(group->order.processes, sizeof(*group->processes));
	if (!group->seen || !group->processes)
		return fail("calloc");
	for (uint64_t i = 0; i < group->order.processes; i++)
		group->seen[i].asked_ns = group->seen[i].reaped_ns = UNKNOWN;
	return group->order.together && pipe_make_private(group->gate) ? fail("pipe") : 0;
}

static void unshare_all(struct group *group)
{
	if (group->shared)
		shared_unmap(group->shared, group->shared_bytes);
	if (group->is_shared)
		shared_close(group->handle);
	for (int end = 0; end < 2; end++)
		if (group->gate[end] >= 0)
			close(group->gate[end]);
	free(group->seen);
	free(group->processes);
	*group = (struct group){ .gate = { -1, -1 } };
}

static int start_process(struct group *group, uint64_t index)
{
	char              handle[24], bytes[24], number[24];
	const char *const arguments[] = { self_path(), "member", "linpack_processes", handle, bytes,
		                          number,      NULL };
	const struct handed  gate = { .ours = group->gate[0], .theirs = GATE };
	struct process_order order = { .arguments = arguments,
		                       .files = &gate,
		                       .file_count = group->order.together ? 1 : 0,
		                       .handles = &group->handle,
		                       .handle_count = 1,
		                       .dies_with_us = 1,
		                       .processor = group->order.pinned ? processor_of(index) : 0,
		                       .niceness = niceness_of(&group->order, index) };

	snprintf(handle, sizeof(handle), "%" PRIu64, (uint64_t)group->handle);
	snprintf(bytes, sizeof(bytes), "%zu", group->shared_bytes);
	snprintf(number, sizeof(number), "%" PRIu64, index);
	return process_start(&order, &group->processes[index]) ? errno : 0;
}

struct thread_order {
	struct group *group;
	uint64_t      index;
};

static int become(const struct group_order *order, uint64_t index)
{
	if (order->pinned && processor_take_thread(processor_of(index) - 1))
		return unsupported("it cannot be bound to one processor: %s", system_error(errno));
	if (niceness_of(order, index) && thread_nicer(niceness_of(order, index)))
		return unsupported("it cannot be made nicer: %s", system_error(errno));
	stack_touch(linp_code.stack);
	return 0;
}

static void *thread(void *argument)
{
	struct thread_order *order = argument;
	struct group        *group = order->group;
	struct seen         *seen = &group->seen[order->index];
	int                  outcome = become(&group->order, order->index);

	if (!outcome)
		outcome = work(group->shared, order->index,
		               group->order.together ? group->gate[0] : -1);
	if (outcome)
		snprintf(group->shared->slots[order->index].why, WHY_ROOM, "%s", outcome_why());
	seen->end.status = outcome ? 1 : 0;
	seen->reaped_ns = clock_ns();
	free(order);
	return NULL;
}

static int start_thread(struct group *group, uint64_t index)
{
	struct thread_order *order = malloc(sizeof(*order));
	pthread_attr_t       attributes;
	int                  error;

	if (!order)
		return ENOMEM;
	*order = (struct thread_order){ .group = group, .index = index };
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (linp_code.stack + 131071) / 65536 * 65536);
	error = pthread_create(&group->seen[index].thread, &attributes, thread, order);
	pthread_attr_destroy(&attributes);
	if (error)
		free(order);
	return error;
}

/* Starts them in turn, until one cannot be created: the system has then said what it allows. */
static void start_all(struct group *group)
{
	for (uint64_t i = 0; i < group->order.processes; i++) {
		group->seen[i].asked_ns = clock_ns();
		group->seen[i].error = group->order.threads ? start_thread(group, i)
		                                            : start_process(group, i);
		if (group->seen[i].error)
			break;
		group->created++;
	}
	if (group->gate[1] >= 0)
		close(group->gate[1]);
	group->gate[1] = -1;
}

/* Whether a member that was created did not finish. */
static int is_lost(const struct group *group, uint64_t index)
{
	const struct process_end *end = &group->seen[index].end;

	return end->was_killed || end->status || !group->shared->slots[index].ended_ns;
}

static void await_all(struct group *group)
{
	struct process_end end;
	ptrdiff_t          index;

	for (uint64_t i = 0; group->order.threads && i < group->created; i++)
		pthread_join(group->seen[i].thread, NULL);
	while (!group->order.threads &&
	       (index = process_wait_any(group->processes, group->created, -1, &end)) >= 0) {
		group->seen[index].reaped_ns = end.ended_ns;
		group->seen[index].end = end;
		process_forget(&group->processes[index]);
	}
	for (uint64_t i = 0; i < group->created; i++)
		if (!is_lost(group, i))
			group->finished++;
}

static int perform(struct group *group)
{
	int outcome = share(group);

	if (!outcome) {
		start_all(group);
		await_all(group);
	}
	return outcome;
}

static struct group group_of(const struct group_order *order, const char *metric)
{
	return (struct group){ .metric = metric, .order = *order, .gate = { -1, -1 } };
}

/* How a member failed, in words. */
static void say_end(const struct group *group, uint64_t index, char *into, size_t room)
{
	const struct seen *seen = &group->seen[index];
	const char        *why = group->shared->slots[index].why;

	if (seen->error)
		snprintf(into, room, "could not be created: %s", system_error(seen->error));
	else if (*why)
		snprintf(into, room, "%s", why);
	else if (seen->end.was_killed && *seen->end.reason)
		snprintf(into, room, "ended by %s", seen->end.reason);
	else if (seen->end.was_killed)
		snprintf(into, room, "ended by signal %d", seen->end.signal);
	else if (seen->end.status == PROCESS_NOT_EXECUTED)
		snprintf(into, room, "was made, and could not become the program");
	else
		snprintf(into, room, "ended with status %d unheard", seen->end.status);
}

static int failed(const struct group *group, uint64_t index)
{
	return group->seen[index].error || (index < group->created && is_lost(group, index));
}

int group_perform(const struct group_order *order, const char *metric)
{
	struct group *group = &kept[kept_count];
	char          why[256];
	int           outcome;

	if (kept_count == KEPT_MOST)
		return fail_check("more than %d groups in one trial", KEPT_MOST);
	*group = group_of(order, metric);
	if ((outcome = perform(group)))
		return outcome;
	kept_count++;
	if (group->finished == order->processes)
		return 0;
	for (uint64_t i = 0; i < order->processes; i++)
		if (failed(group, i)) {
			say_end(group, i, why, sizeof(why));
			return fail_check("%" PRIu64 " of %" PRIu64 " were created and %" PRIu64
			                  " finished; the first that did not: %s",
			                  group->created, order->processes, group->finished, why);
		}
	return fail_check("not all finished");
}

uint64_t group_try(const struct group_order *order)
{
	struct group group = group_of(order, NULL);
	uint64_t     finished = perform(&group) ? 0 : group.finished;

	unshare_all(&group);
	return finished;
}

/* Telling. Times go relative to the first request, so that they are short. */

static uint64_t since(uint64_t zero, uint64_t moment)
{
	return moment == 0 || moment == UNKNOWN ? UNKNOWN : moment - zero;
}

static void tell_failures(const struct group *group)
{
	char why[256];

	record_list("failures");
	for (uint64_t i = 0; i < group->order.processes; i++) {
		if (!failed(group, i))
			continue;
		say_end(group, i, why, sizeof(why));
		record_object(NULL);
		record_number("member", i);
		if (group->seen[i].end.signal)
			record_number("signal", (uint64_t)group->seen[i].end.signal);
		else
			record_null("signal");
		record_text("status", group->seen[i].error            ? "not created"
		                      : group->seen[i].end.was_killed ? "killed"
		                                                      : "failed");
		record_text("reason", why);
		record_object_close();
	}
	record_list_close();
}

static uint64_t processors(void)
{
	int usable[PROCESSORS_MOST], count = processors_usable(usable, PROCESSORS_MOST);

	return count > 0 ? (uint64_t)count : 1;
}

static void tell_one(const struct group *group, uint64_t copy, uint64_t number, int file)
{
	uint64_t  count = group->order.processes, zero = group->seen[0].asked_ns;
	uint64_t *times = calloc(count + MARKS, sizeof(*times));

	if (!times)
		abort();
	record_open("group");
	record_number("copy", copy);
	record_text("metric", group->metric);
	record_number("batch", number);
	record_number("processors", processors());
	record_number("members", count);
	record_number("created", group->created);
	record_number("finished", group->finished);
	record_number("iterations", group->order.iterations);
	record_text("code_sha256", linp_code.sha256);
	record_number("zero_ns", zero);
	for (uint64_t i = 0; i < count; i++)
		times[i] = since(zero, group->seen[i].asked_ns);
	record_known("asked_ns", times, count);
	for (uint64_t i = 0; i < count; i++)
		times[i] = since(zero, group->shared->slots[i].began_ns);
	record_known("began_ns", times, count);
	for (uint64_t i = 0; i < count; i++)
		times[i] = since(zero, group->shared->slots[i].ended_ns);
	record_known("ended_ns", times, count);
	for (uint64_t i = 0; i < count; i++)
		times[i] = since(zero, group->seen[i].reaped_ns);
	record_known("reaped_ns", times, count);
	record_list("marks_ns");
	for (uint64_t i = 0; i < count; i++) {
		for (int mark = 0; mark < MARKS; mark++)
			times[mark] = since(zero, group->shared->slots[i].marks_ns[mark]);
		record_known(NULL, times, MARKS);
	}
	record_list_close();
	tell_failures(group);
	record_close(file);
	free(times);
}

void group_tell(uint64_t copy, int file)
{
	for (int i = 0; i < kept_count; i++) {
		uint64_t number = 1;

		for (int before = 0; before < i; before++)
			number += !strcmp(kept[before].metric, kept[i].metric);
		tell_one(&kept[i], copy, number, file);
	}
	for (int i = 0; i < kept_count; i++)
		unshare_all(&kept[i]);
	kept_count = 0;
}
