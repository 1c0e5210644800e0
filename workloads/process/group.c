/* group.c -- see group.h. */
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "../cpu/linp.h"
#include "../harness/channel.h"
#include "../harness/clock.h"
#include "../harness/outcome.h"
#include "../harness/parameters.h"
#include "../harness/record.h"
#include "../harness/tree.h"

enum { MARKS = 16, WHY_ROOM = 120, PAGE = 4096, KEPT_MOST = 256 };

#define UNKNOWN UINT64_MAX

/* What a member writes of itself. */
struct slot {
	uint64_t began_ns, ended_ns;  /* 0 until then */
	uint64_t marks_ns[MARKS];     /* when it had done 1/16, 2/16, ... of its iterations */
	char     why[WHY_ROOM];       /* it did not finish */
};

struct shared {
	struct group_order order;
	struct slot        slots[];
};

/* What the starter knows of a member. */
struct seen {
	pid_t     pid;
	pthread_t thread;
	uint64_t  asked_ns, reaped_ns; /* UNKNOWN if not */
	int       wait_status;
	int       error; /* why it could not be created */
};

struct group {
	const char        *metric;
	struct group_order order;
	struct shared     *shared;
	size_t             shared_bytes;
	int                file;    /* of what is shared */
	int                gate[2]; /* ends when all may begin */
	struct seen       *seen;
	uint64_t           created, finished;
};

static struct group kept[KEPT_MOST];
static int          kept_count;

/* A member's work. */

static int bind_to_one(uint64_t index)
{
#ifdef __linux__
	cpu_set_t may, only;
	size_t    usable[CPU_SETSIZE], count = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		return -1;
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may))
			usable[count++] = i;
	CPU_ZERO(&only);
	CPU_SET(usable[index % count], &only);
	return sched_setaffinity(0, sizeof(only), &only);
#else
	(void)index;
	errno = ENOSYS;
	return -1;
#endif
}

static int become(const struct group_order *order, uint64_t index)
{
	if (order->pinned && bind_to_one(index))
		return unsupported("it cannot be bound to one processor: %s", strerror(errno));
	errno = 0;
	if (order->nice && index % 2 && nice((int)order->nice) == -1 && errno)
		return unsupported("it cannot be made nicer: %s", strerror(errno));
	return 0;
}

/* Where memory is what ends, the kernel shall choose a member and not its starter. */
static void offer_itself(void)
{
#ifdef __linux__
	int file = open("/proc/self/oom_score_adj", O_WRONLY);

	if (file < 0)
		return;
	if (write(file, "1000", 4) < 0)
		errno = 0; /* then it chooses by size: a member is the likelier still */
	close(file);
#endif
}

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

static int solve_all(const struct group_order *order, struct slot *slot, linp_function *solve, char *area)
{
	uint64_t done = 0;

	for (uint64_t mark = 0; mark < MARKS; mark++) {
		for (uint64_t until = order->iterations * (mark + 1) / MARKS; done < until; done++) {
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
	struct slot   *slot = &shared->slots[index];
	void          *callable = NULL;
	linp_function *solve;
	char          *area = NULL;
	int            outcome;

	if ((outcome = become(&shared->order, index)) || (outcome = code_map(&linp_code, &callable)) ||
	    (outcome = stack_take(linp_code.stack)))
		return outcome;
	*(void **)(void *)&solve = callable;
	if (shared->order.memory) {
		area = mmap(NULL, shared->order.memory * 1024, PROT_READ | PROT_WRITE,
		            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED)
			return fail("mmap");
		if (shared->order.together)
			write_through(area, shared->order.memory * 1024, 0);
	}
	wait_at(gate);
	slot->began_ns = clock_ns();
	outcome = solve_all(&shared->order, slot, solve, area);
	if (!outcome)
		slot->ended_ns = slot->marks_ns[MARKS - 1];
	if (area)
		munmap(area, shared->order.memory * 1024);
	code_unmap(&linp_code, &callable);
	return outcome;
}

int member_main(int argc, char *argv[])
{
	uint64_t       file, index, gate;
	struct shared *shared;
	off_t          bytes;

	if (argc != 3 || parse_number(argv[0], &file) || parse_number(argv[1], &index) ||
	    parse_number(argv[2], &gate))
		return 2;
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	bytes = lseek((int)file, 0, SEEK_END);
	shared = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (shared->order.together || shared->order.memory)
		offer_itself();
	if (work(shared, index, shared->order.together ? (int)gate : -1)) {
		snprintf(shared->slots[index].why, WHY_ROOM, "%s", outcome_why());
		return 1;
	}
	return 0;
}

/* The starter's side. */

static int share(struct group *group)
{
	group->shared_bytes = sizeof(struct shared) + group->order.processes * sizeof(struct slot);
#ifdef __linux__
	group->file = (int)syscall(SYS_memfd_create, "group", 0);
#endif
	if (group->file < 0) {
		char path[4200];

		snprintf(path, sizeof(path), "%s/group", trial_directory());
		group->file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (group->file < 0)
			return fail("open");
		unlink(path);
	}
	if (ftruncate(group->file, (off_t)group->shared_bytes))
		return fail("ftruncate");
	group->shared = mmap(NULL, group->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, group->file, 0);
	if (group->shared == MAP_FAILED)
		return fail("mmap");
	group->shared->order = group->order;
	group->seen = calloc(group->order.processes, sizeof(*group->seen));
	if (!group->seen)
		return fail("calloc");
	for (uint64_t i = 0; i < group->order.processes; i++)
		group->seen[i].asked_ns = group->seen[i].reaped_ns = UNKNOWN;
	if (group->order.together && pipe(group->gate))
		return fail("pipe");
	if (group->order.together)
		fcntl(group->gate[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

static void unshare_all(struct group *group)
{
	if (group->shared && group->shared != MAP_FAILED)
		munmap(group->shared, group->shared_bytes);
	if (group->file >= 0)
		close(group->file);
	for (int end = 0; end < 2; end++)
		if (group->gate[end] >= 0)
			close(group->gate[end]);
	group->shared = NULL;
	group->file = group->gate[0] = group->gate[1] = -1;
}

static int start_process(const struct group *group, uint64_t index)
{
	char  file[24], number[24], gate[24];
	char *arguments[] = { (char *)(uintptr_t)self_path(), (char *)(uintptr_t)"member", file, number, gate,
		              NULL };
	char *environment[] = { NULL };

	snprintf(file, sizeof(file), "%d", group->file);
	snprintf(number, sizeof(number), "%" PRIu64, index);
	snprintf(gate, sizeof(gate), "%d", group->order.together ? group->gate[0] : 0);
	return posix_spawn(&group->seen[index].pid, self_path(), NULL, NULL, arguments, environment);
}

struct thread_order {
	struct group *group;
	uint64_t      index;
};

static void *thread(void *argument)
{
	struct thread_order *order = argument;
	struct group        *group = order->group;
	struct seen         *seen = &group->seen[order->index];

	if (work(group->shared, order->index, group->order.together ? group->gate[0] : -1)) {
		snprintf(group->shared->slots[order->index].why, WHY_ROOM, "%s", outcome_why());
		seen->wait_status = 1;
	}
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
		group->seen[i].error = group->order.threads ? start_thread(group, i) : start_process(group, i);
		if (group->seen[i].error)
			break;
		group->created++;
	}
	if (group->gate[1] >= 0)
		close(group->gate[1]);
	group->gate[1] = -1;
}

static void await_all(struct group *group)
{
	uint64_t left = group->created;

	for (uint64_t i = 0; group->order.threads && i < group->created; i++)
		pthread_join(group->seen[i].thread, NULL);
	while (!group->order.threads && left) {
		int   status;
		pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0 && errno != EINTR)
			break;
		for (uint64_t i = 0; pid > 0 && i < group->created; i++)
			if (group->seen[i].pid == pid) {
				group->seen[i].reaped_ns = clock_ns();
				group->seen[i].wait_status = status;
				left--;
				break;
			}
	}
	for (uint64_t i = 0; i < group->created; i++)
		if (group->seen[i].wait_status == 0 && group->shared->slots[i].ended_ns)
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
	return (struct group){ .metric = metric, .order = *order, .file = -1, .gate = { -1, -1 } };
}

/* How a member failed, in words. */
static void say_end(const struct group *group, uint64_t index, char *into, size_t room)
{
	const struct seen *seen = &group->seen[index];
	const char        *why = group->shared->slots[index].why;

	if (seen->error)
		snprintf(into, room, "could not be created: %s", strerror(seen->error));
	else if (*why)
		snprintf(into, room, "%s", why);
	else if (!group->order.threads && WIFSIGNALED(seen->wait_status))
		snprintf(into, room, "ended by signal %d", WTERMSIG(seen->wait_status));
	else
		snprintf(into, room, "ended with status %d unheard",
		         group->order.threads ? seen->wait_status : WEXITSTATUS(seen->wait_status));
}

static int failed(const struct group *group, uint64_t index)
{
	return group->seen[index].error ||
	       (index < group->created &&
	        (group->seen[index].wait_status || !group->shared->slots[index].ended_ns));
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
	free(group.seen);
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
		if (!group->seen[i].error && !group->order.threads && WIFSIGNALED(group->seen[i].wait_status))
			record_number("signal", (uint64_t)WTERMSIG(group->seen[i].wait_status));
		else
			record_null("signal");
		record_text("status", group->seen[i].error ? "not created"
		                      : !group->order.threads && WIFSIGNALED(group->seen[i].wait_status)
		                          ? "killed"
		                          : "failed");
		record_text("reason", why);
		record_object_close();
	}
	record_list_close();
}

static uint64_t processors(void)
{
#ifdef __linux__
	cpu_set_t may;

	if (sched_getaffinity(0, sizeof(may), &may) == 0)
		return (uint64_t)CPU_COUNT(&may);
#endif
	return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void tell(const struct group *group, uint64_t copy, uint64_t number)
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
	record_close(CHANNEL_UP);
	free(times);
}

void group_tell(uint64_t copy)
{
	for (int i = 0; i < kept_count; i++) {
		uint64_t number = 1;

		for (int before = 0; before < i; before++)
			number += !strcmp(kept[before].metric, kept[i].metric);
		tell(&kept[i], copy, number);
		unshare_all(&kept[i]);
		free(kept[i].seen);
	}
	kept_count = 0;
}
