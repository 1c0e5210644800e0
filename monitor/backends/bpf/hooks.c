/* hooks.c -- see hooks.h. */
#include "hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef int32_t  s32;
/* Generated: not ours to mend. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "accounting.skel.h"
#pragma GCC diagnostic pop

#include "../../../base/clock.h"
#include "kernel/cgroup.h"

/* Memory is taken when the maps are made, whether it is used or not: about ten megabytes, at
 * LATENCY
 * 26. A slot is in use until its thread is found to be over, or (not held) some tens of ms after
 * its end, which a storm of forks makes many. */
static const uint32_t slots_usual[DETAILS] = {
	[LIFE] = 16384, [BUDGET] = 6144, [CALLS] = 6144, [PROFILE] = 6144, [LATENCY] = 1500,
};

struct hooks hooks = { .hook_ns = UNKNOWN };
static struct {
	struct accounting  *skeleton;
	struct ring_buffer *ring;
	int                 walk_file; /* over all tasks */
	struct bpf_link  *self; /* over ourselves alone; NULL: those who are watched are not held */
	struct bpf_link  *switches; /* the hook on switches, while a window is open */
	struct bpf_link  *calls[2]; /* the hooks on system calls, while they are on */
	struct bpf_link **samples;  /* of each processor, at PROFILE */
	int               sample_count;
	enum detail       detail;
	char              log[8192]; /* what libbpf last complained of */
	void (*gone)(uint32_t slot);
} s;

static int keep_log(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN)
		vsnprintf(s.log, sizeof s.log, format, arguments);
	return 0;
}

/* A program of 32 bits makes its calls by interrupt 128; so can one of 64 bits, where the kernel
 * allows it. */
static bool has_32_bit(void)
{
#ifdef __x86_64__
	int   status;
	pid_t child = fork();

	if (child == 0) {
		long result = 20; /* getpid */

		__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
		_exit(result > 0 ? 0 : 1);
	}
	/* Where it cannot be tried they are looked for: that costs a little, and misses none. */
	return child < 0 || waitpid(child, &status, 0) != child ||
	       (WIFEXITED(status) && !WEXITSTATUS(status));
#else
	return false;
#endif
}

/* Since 6.3. */
static bool can_hold(void)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool can = kernel && btf__find_by_name_kind(kernel, "bpf_task_acquire", BTF_KIND_FUNC) > 0;

	btf__free(kernel);
	return can;
}

static void size_maps(const struct order *order)
{
	struct accounting *skeleton = s.skeleton;
	/* Besides: row 0, and one for the process that is watched to calibrate. */
	uint32_t slots = (order->slots ? order->slots : slots_usual[order->detail]) + 1 +
	                 (order->detail != LIFE && order->detail != PROFILE);
	uint32_t ring = 4096, leaving = 1;

	hooks.slots = slots;
	hooks.cell_bytes = order->detail == LATENCY ? sizeof(struct timed_cell)
	                                            : sizeof(struct cell);
	/* An entry takes 16 bytes; besides those of slots, each processor may ask for more
	 * allowance. */
	while (ring < (slots + (uint32_t)sysconf(_SC_NPROCESSORS_CONF)) * 16)
		ring *= 2;
	bpf_map__set_max_entries(skeleton->maps.rows, slots);
	bpf_map__set_max_entries(skeleton->maps.cells, order->detail == LIFE ? 1 : slots);
	bpf_map__set_value_size(skeleton->maps.cells, (uint32_t)(CELLS * hooks.cell_bytes));
	bpf_map__set_max_entries(skeleton->maps.free_slots, slots);
	bpf_map__set_max_entries(skeleton->maps.held, slots);
	skeleton->rodata->slots = slots;
	while (leaving < LEAVING && leaving < slots / 8)
		leaving *= 2;
	skeleton->rodata->leaving_mask = leaving - 1;
	bpf_map__set_max_entries(skeleton->maps.done, ring);
}

/* Only what this watch needs is loaded: the verifier then finds only what it can bear. */
static void choose_programs(const struct order *order)
{
	struct accounting *skeleton = s.skeleton;
	bool               timed = order->detail == LATENCY;

	bpf_program__set_autoload(skeleton->progs.on_return,
	                          order->detail == CALLS || order->detail == BUDGET);
	bpf_program__set_autoload(skeleton->progs.on_return_timed, timed);
	bpf_program__set_autoload(skeleton->progs.on_enter_timed, timed);
	bpf_program__set_autoload(skeleton->progs.on_switch, order->detail == BUDGET);
	bpf_program__set_autoload(skeleton->progs.on_sample, order->detail == PROFILE);
	bpf_program__set_autoload(skeleton->progs.on_cgroup, order->cgroup != NULL);
}

/* With too few the kernel or libbpf fails in the midst, for whatever reason. */
enum { FILES_NEEDED = 64 };

static int refuse(char *why, size_t room)
{
	int           error = errno;
	struct rlimit files;

	s.log[strcspn(s.log, "\n")] = '\0';
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		snprintf(why, room,
		         "this kernel has no type information (/sys/kernel/btf/vmlinux)");
	else if (error == EPERM || error == EACCES)
		snprintf(
			why, room,
			"not permitted: BPF needs the capabilities CAP_BPF and CAP_PERFMON (or root)");
	else if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < FILES_NEEDED)
		snprintf(why, room,
		         "BPF needs up to %d open files, but the limit is %llu (ulimit -n)",
		         FILES_NEEDED, (unsigned long long)files.rlim_cur);
	else
		snprintf(why, room, "the kernel refused the BPF programs: %s: %s", strerror(error),
		         s.log);
	if (s.skeleton)
		accounting__destroy(s.skeleton);
	s.skeleton = NULL;
	return -1;
}

static void *map_memory(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = ((bpf_map__value_size(map) + 7) / 8 * 8) * (size_t)bpf_map__max_entries(map);
	void  *memory;

	bytes = (bytes + page - 1) / page * page;
	hooks.maps_bytes += bytes;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void make_slots_free(void)
{
	/* The last given is the first taken: low slots stay in use, and a scan stays short. */
	for (uint32_t slot = hooks.slots - 1; slot > 0; slot--)
		bpf_map__update_elem(s.skeleton->maps.free_slots, NULL, 0, &slot, sizeof slot, 0);
	s.skeleton->bss->slots_free = hooks.slots - 1;
	s.skeleton->bss->wake_below = hooks.slots / 4 * 3;
}

static int on_gone(void *context, void *bytes, size_t count)
{
	(void)context;
	(void)count;
	if (*(uint32_t *)bytes)
		s.gone(*(uint32_t *)bytes);
	return 0;
}

int hooks_load(const struct order *order, char *why, size_t why_room)
{
	struct accounting *skeleton;
	struct cgroup_key  cgroup = { 0, 0 };

	libbpf_set_print(keep_log);
	s.detail = order->detail;
	skeleton = s.skeleton = accounting__open();
	if (!skeleton)
		return refuse(why, why_room);
	if (order->cgroup && cgroup_find(order->cgroup, &cgroup, why, why_room)) {
		accounting__destroy(skeleton);
		s.skeleton = NULL;
		return -1;
	}
	skeleton->rodata->one_in = order->children;
	skeleton->rodata->drawn_from = order->drawn_from;
	skeleton->rodata->seed = order->seed;
	skeleton->rodata->counts_always = order->detail == CALLS || order->detail == LATENCY;
	skeleton->rodata->is_budgeted = order->detail == BUDGET;
	skeleton->rodata->is_timed = order->detail == LATENCY;
	skeleton->rodata->excepted[0] = getpid();
	skeleton->rodata->excepted[1] = order->except;
	skeleton->rodata->has_32_bit = has_32_bit();
	skeleton->rodata->holds = can_hold();
	skeleton->rodata->cgroup_id = cgroup.id;
	skeleton->rodata->cgroup_hierarchy = cgroup.hierarchy;
	size_maps(order);
	choose_programs(order);
	if (accounting__load(skeleton))
		return refuse(why, why_room);
	hooks.rows = map_memory(skeleton->maps.rows);
	hooks.cells = map_memory(skeleton->maps.cells);
	hooks.maps_bytes += sizeof *skeleton->bss + bpf_map__max_entries(skeleton->maps.done) +
	                    hooks.slots * (sizeof(uint32_t) + sizeof(void *));
	s.ring = ring_buffer__new(bpf_map__fd(skeleton->maps.done), on_gone, NULL, NULL);
	if (!hooks.rows || !hooks.cells || !s.ring)
		return refuse(why, why_room);
	make_slots_free();
	hooks_allow(UNKNOWN);
	/* The kernel's type information was read for the loading alone: some megabytes. */
	malloc_trim(0);
	return 0;
}

/* Hooks a program in, and keeps the link where the skeleton will close it. */
static int hook_in(struct bpf_program *program, struct bpf_link **link, char *why, size_t why_room)
{
	*link = bpf_program__attach(program);
	if (*link)
		return 0;
	snprintf(why, why_room, "the hook %s was refused: %s", bpf_program__name(program),
	         strerror(errno));
	return -1;
}

static int sample_processors(char *why, size_t why_room)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof clock,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLE_NS,
	};

	s.samples = calloc(PROCESSORS, sizeof *s.samples);
	if (!s.samples)
		no_memory();
	/* The kernel itself says where they end: /sys may be hidden. */
	for (int i = 0; i < PROCESSORS; i++) {
		int file = (int)syscall(SYS_perf_event_open, &clock, -1, i, -1,
		                        PERF_FLAG_FD_CLOEXEC);

		if (file < 0 && errno == ENODEV)
			continue; /* that processor is off */
		if (file < 0 && errno == EINVAL && s.sample_count)
			break;
		if (file >= 0)
			s.samples[s.sample_count] = bpf_program__attach_perf_event(
				s.skeleton->progs.on_sample, file);
		if (file < 0 || !s.samples[s.sample_count++]) {
			snprintf(why, why_room, "the clock that samples was refused: %s",
			         strerror(errno));
			return -1;
		}
	}
	return 0;
}

static int walk_ourselves(char *why, size_t why_room)
{
	union bpf_iter_link_info    which = { .task.tid = (u32)getpid() };
	struct bpf_iter_attach_opts options = {
		.sz = sizeof options,
		.link_info = &which,
		.link_info_len = sizeof which,
	};

	s.self = bpf_program__attach_iter(s.skeleton->progs.on_walk, &options);
	if (!s.self)
		snprintf(why, why_room, "a walk over one task alone was refused: %s",
		         strerror(errno));
	return s.self ? 0 : -1;
}

int hooks_on(const struct order *order, char *why, size_t why_room)
{
	struct accounting *skeleton = s.skeleton;

	if (hook_in(skeleton->progs.on_free, &skeleton->links.on_free, why, why_room) ||
	    hook_in(skeleton->progs.on_exit, &skeleton->links.on_exit, why, why_room) ||
	    hook_in(skeleton->progs.on_exec, &skeleton->links.on_exec, why, why_room) ||
	    hook_in(skeleton->progs.on_signal, &skeleton->links.on_signal, why, why_room) ||
	    hook_in(skeleton->progs.on_fork, &skeleton->links.on_fork, why, why_room) ||
	    hook_in(skeleton->progs.on_walk, &skeleton->links.on_walk, why, why_room))
		return -1;
	if (order->cgroup &&
	    hook_in(skeleton->progs.on_cgroup, &skeleton->links.on_cgroup, why, why_room))
		return -1;
	if (order->detail == PROFILE && sample_processors(why, why_room))
		return -1;
	s.walk_file = bpf_link__fd(skeleton->links.on_walk);
	return skeleton->rodata->holds ? walk_ourselves(why, why_room) : 0;
}

int hooks_calls_on(void)
{
	struct accounting *skeleton = s.skeleton;

	if (s.detail == LATENCY) {
		s.calls[0] = bpf_program__attach(skeleton->progs.on_return_timed);
		s.calls[1] = bpf_program__attach(skeleton->progs.on_enter_timed);
		return s.calls[0] && s.calls[1] ? 0 : -1;
	}
	s.calls[0] = bpf_program__attach(skeleton->progs.on_return);
	return s.calls[0] ? 0 : -1;
}

void hooks_calls_off(void)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(s.calls[i]);
		s.calls[i] = NULL;
	}
}

void hooks_count(int counting)
{
	__atomic_store_n(&s.skeleton->bss->counting, (u32)counting, __ATOMIC_SEQ_CST);
}

uint64_t hooks_hits(void)
{
	uint64_t hits = 0;

	for (int i = 0; i < PROCESSORS; i++)
		hits += __atomic_load_n(&s.skeleton->bss->allowances[i].hits, __ATOMIC_RELAXED);
	return hits;
}

void hooks_allow(uint64_t hits)
{
	for (int i = 0; i < PROCESSORS; i++) {
		struct allowance *one = &s.skeleton->bss->allowances[i];

		__atomic_store_n(&one->wake_at, hits == UNKNOWN ? UNKNOWN : one->hits + hits,
		                 __ATOMIC_RELAXED);
	}
}

int hooks_are_spent(void)
{
	return (int)__atomic_exchange_n(&s.skeleton->bss->is_spent, 0, __ATOMIC_SEQ_CST);
}

uint64_t hooks_open_window(int counting)
{
	struct accounting__bss *shared = s.skeleton->bss;

	shared->window_begin_ns = UNKNOWN;
	shared->window_end_ns = 0;
	shared->window++;
	s.switches = bpf_program__attach(s.skeleton->progs.on_switch);
	shared->window_begin_ns = boottime_ns();
	hooks_count(counting);
	return shared->window_begin_ns;
}

uint64_t hooks_close_window(void)
{
	struct accounting__bss *shared = s.skeleton->bss;

	hooks_count(0);
	shared->window_end_ns = boottime_ns();
	return shared->window_end_ns;
}

void hooks_leave_window(void)
{
	bpf_link__destroy(s.switches);
	s.switches = NULL;
}

uint64_t hooks_ran_in_window(uint32_t slot)
{
	const struct accounting__bss *shared = s.skeleton->bss;
	const struct row             *row = &hooks.rows[slot];
	const struct occupant        *occupant;
	uint64_t                      since = shared->window_begin_ns;
	uint64_t                      so_far = row->window == shared->window ? row->window_ns : 0;

	/* A thread that was switched out has its time; one that runs still lacks the last of it. */
	if (row->state != ROW_LIVE || !row->processor || row->processor > PROCESSORS)
		return so_far;
	occupant = &shared->occupants[row->processor - 1];
	if (occupant->window == shared->window) {
		if (occupant->slot != slot)
			return so_far;
		since = occupant->since_ns;
	}
	return so_far + (shared->window_end_ns > since ? shared->window_end_ns - since : 0);
}

enum { ROUNDS = 5, AGAIN = 3, TIMES = ROUNDS * AGAIN };

/* Time of the cheapest system call, ns, over some of them. */
static double call_ns(void)
{
	enum { CALLS_MADE = 2000 };
	uint64_t begun_ns = clock_ns();

	for (int i = 0; i < CALLS_MADE; i++)
		syscall(SYS_getppid);
	return (double)(clock_ns() - begun_ns) / CALLS_MADE;
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/* A process that is there to be watched: for each byte that it reads it makes some calls, and tells
 * their times. */
static void be_watched(int asked, int told)
{
	double times[AGAIN];
	char   word;

	while (read(asked, &word, 1) == 1) {
		for (int i = 0; i < AGAIN; i++)
			times[i] = call_ns();
		if (write(told, times, sizeof times) != (ssize_t)sizeof times)
			break;
	}
	_exit(0);
}

/* Medians with and without the hook, by turns. Returns 0, or -1 if a turn failed. */
static int time_by_turns(int asked, int told)
{
	double times[2][TIMES];

	for (int round = 0; round < ROUNDS; round++)
		for (int on = 0; on < 2; on++) {
			size_t bytes = AGAIN * sizeof(double);
			int    failed = on && hooks_calls_on();

			failed = failed || write(asked, "", 1) != 1 ||
			         read(told, &times[on][round * AGAIN], bytes) != (ssize_t)bytes;
			if (on)
				hooks_calls_off();
			if (failed)
				return -1;
		}
	for (int on = 0; on < 2; on++)
		qsort(times[on], TIMES, sizeof times[on][0], compare);
	hooks.hook_ns = 0;
	if (times[1][TIMES / 2] > times[0][TIMES / 2])
		hooks.hook_ns = (uint64_t)(times[1][TIMES / 2] - times[0][TIMES / 2] + 0.5);
	return 0;
}

static uint32_t slot_of(pid_t pid)
{
	for (uint32_t slot = 1; slot <= hooks_slots_highest(); slot++)
		if (hooks.rows[slot].pid == pid)
			return slot;
	return 0;
}

static void close_both(const int pipe[2])
{
	for (int i = 0; i < 2; i++)
		if (pipe[i] >= 0)
			close(pipe[i]);
}

static void time_child(pid_t child, int asked, int told)
{
	u32 pid = (u32)child;

	hooks_attach(&child, 1);
	hooks.calibrated = slot_of(child);
	s.skeleton->bss->counting = 1;
	if (time_by_turns(asked, told))
		hooks.hook_ns = UNKNOWN;
	s.skeleton->bss->counting = 0;
	bpf_map__delete_elem(s.skeleton->maps.targets, &pid, sizeof pid, 0);
}

/* What a hit costs as things are here and now: to a process that is watched, for others pay less.
 * Where no process can be made for that, it stays unknown. */
void hooks_calibrate(void)
{
	int   asked[2] = { -1, -1 }, told[2] = { -1, -1 };
	pid_t child = -1;

	if (!pipe2(asked, O_CLOEXEC) && !pipe2(told, O_CLOEXEC))
		child = fork();
	if (child == 0) {
		close(asked[1]);
		close(told[0]);
		be_watched(asked[0], told[1]);
	}
	if (child > 0) {
		close(asked[0]);
		close(told[1]);
		asked[0] = told[1] = -1;
		time_child(child, asked[1], told[0]);
	}
	close_both(asked);
	close_both(told);
	if (child > 0)
		waitpid(child, NULL, 0);
	memset(s.skeleton->bss->allowances, 0, sizeof s.skeleton->bss->allowances);
	hooks_allow(UNKNOWN);
}

int hooks_hold(pid_t child)
{
	struct tag held = { .kind = TAG_HELD };
	int        file = (int)syscall(SYS_pidfd_open, child, 0);
	int        failed;

	if (file < 0)
		return -1;
	failed = bpf_map__update_elem(s.skeleton->maps.tags, &file, sizeof file, &held, sizeof held,
	                              0);
	close(file);
	return failed;
}

static void walk(int link_file)
{
	char text[256];
	int  file = bpf_iter_create(link_file);

	s.skeleton->bss->walk = ++hooks.walk;
	if (file < 0)
		return;
	while (read(file, text, sizeof text) > 0)
		;
	close(file);
}

/* A child of a child is taken in once its parent is: walks go on until one finds none. Those made
 * meanwhile are taken in by the hook on fork. */
static int take_in(void)
{
	int total = 0;

	s.skeleton->bss->attaching = 1;
	s.skeleton->bss->is_thorough = 1;
	do {
		s.skeleton->bss->attached = 0;
		walk(s.walk_file);
		total += (int)s.skeleton->bss->attached;
	} while (s.skeleton->bss->attached);
	s.skeleton->bss->attaching = 0;
	s.skeleton->bss->is_thorough = 0;
	return total;
}

int hooks_attach(const pid_t pids[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		u32 pid = (u32)pids[i];
		u64 begin_ns = 0;

		bpf_map__update_elem(s.skeleton->maps.targets, &pid, sizeof pid, &begin_ns,
		                     sizeof begin_ns, 0);
	}
	return take_in();
}

void hooks_refresh(void)
{
	s.skeleton->bss->changed_count = 0;
	if (s.skeleton->bss->wants_walk) {
		s.skeleton->bss->wants_walk = 0;
		take_in();
	}
	walk(s.self ? bpf_link__fd(s.self) : s.walk_file);
}

void hooks_refresh_all(void)
{
	s.skeleton->bss->is_thorough = 1;
	hooks_refresh();
	s.skeleton->bss->is_thorough = 0;
}

void hooks_settle(void)
{
	if (!s.skeleton->bss->exited || !s.self)
		return;
	s.skeleton->bss->only_settles = 1;
	walk(bpf_link__fd(s.self));
	s.skeleton->bss->only_settles = 0;
}

uint64_t hooks_unfinished(void)
{
	const struct accounting__bss *shared = s.skeleton->bss;

	return shared->shared_exits > shared->shared_ends
	               ? shared->shared_exits - shared->shared_ends
	               : 0;
}

void hooks_drain(void (*gone)(uint32_t slot))
{
	s.gone = gone;
	ring_buffer__consume(s.ring);
}

static void clear(uint32_t slot)
{
	memset(&hooks.rows[slot], 0, sizeof hooks.rows[slot]);
	if (s.detail != LIFE)
		memset(hooks_cell(slot, 0), 0, CELLS * hooks.cell_bytes);
}

void hooks_retire(uint32_t slot)
{
	clear(slot);
	hooks.calibrated = 0;
}

void hooks_give_back(uint32_t slot)
{
	clear(slot);
	__atomic_fetch_add(&s.skeleton->bss->slots_free, 1, __ATOMIC_SEQ_CST);
	bpf_map__update_elem(s.skeleton->maps.free_slots, NULL, 0, &slot, sizeof slot, 0);
}

uint32_t hooks_enrolled(void)
{
	return __atomic_load_n(&s.skeleton->bss->enrolled, __ATOMIC_ACQUIRE);
}

const uint32_t *hooks_changed(size_t *count)
{
	*count = s.skeleton->bss->changed_count;
	return *count <= CHANGED ? s.skeleton->bss->changed : NULL;
}

uint32_t hooks_slots_highest(void)
{
	return s.skeleton->bss->slots_highest;
}

int hooks_lost_slots(void)
{
	return s.skeleton->bss->lost_slots > 0;
}

/* How often a program was not run because it was running already on that processor: what it would
 * have seen then, nobody has. */
static uint64_t misses_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	u32                  size = sizeof info;
	int                  file = bpf_program__fd(program);

	return file < 0 || bpf_obj_get_info_by_fd(file, &info, &size) ? 0 : info.recursion_misses;
}

uint64_t hooks_lost_events(void)
{
	const struct accounting *skeleton = s.skeleton;

	return skeleton->bss->lost_tasks + misses_of(skeleton->progs.on_fork) +
	       misses_of(skeleton->progs.on_exec) + misses_of(skeleton->progs.on_exit) +
	       misses_of(skeleton->progs.on_free) + misses_of(skeleton->progs.on_signal);
}

int hooks_call_of(uint32_t cell, enum abi *abi, uint32_t *number)
{
	if (cell == CELL_OTHER) {
		*abi = ABI_NATIVE;
		*number = OTHER_CALLS;
		return 1;
	}
	for (uint32_t i = 0; i < TABLES * NUMBERS; i++) {
		if ((s.skeleton->bss->cell_of[i] & ~(u32)RETURNS_TWICE) != cell)
			continue;
		*abi = i < NUMBERS ? ABI_NATIVE : ABI_32;
		*number = i % NUMBERS;
		if (*number == NUMBERS - 1)
			*number = OTHER_CALLS;
		return 1;
	}
	return 0;
}

int hooks_file(void)
{
	return ring_buffer__epoll_fd(s.ring);
}

void hooks_account(struct account *account)
{
	const struct counters *costs =
		(const struct counters *)(const void *)&s.skeleton->bss->unfollowed_costs;

	account->hook_ns = hooks.hook_ns;
	account->maps_bytes = hooks.maps_bytes;
	account->lost_slots = s.skeleton->bss->lost_slots;
	account->lost_calls = 0;
	account->hits_of_all = s.detail == BUDGET ? hooks_hits() : UNKNOWN;
	account->unfollowed = s.skeleton->bss->unfollowed;
#define COUNTER(name, source) account->unfollowed_figure[name] = costs->name;
	COUNTERS_OF_TASK(COUNTER)
#undef COUNTER
	figures_split_time(account->unfollowed_figure);
}

void hooks_off(void)
{
	bpf_link__destroy(s.switches);
	s.switches = NULL;
	hooks_calls_off();
	for (int i = 0; i < s.sample_count; i++)
		bpf_link__destroy(s.samples[i]);
	s.sample_count = 0;
	bpf_link__destroy(s.skeleton->links.on_fork);
	s.skeleton->links.on_fork = NULL;
}

void hooks_unload(void)
{
	hooks_off();
	bpf_link__destroy(s.self);
	ring_buffer__free(s.ring);
	accounting__destroy(s.skeleton);
}
