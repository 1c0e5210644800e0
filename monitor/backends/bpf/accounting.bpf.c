/* accounting.bpf.c -- follows processes from fork to the end, and counts their system calls.
 *
 * Measures     nothing that the kernel counts already: that is read, at the end of each thread and
 *              when the monitor asks. System calls are counted where they return, in the caller's
 *              own cells.
 * Costs        a few hundred ns at each fork, exec and exit of the machine's processes; with the
 *              hook on system calls, what an empty program there costs, for every process of the
 *              machine, and one or two ns. docs/explanation/monitor.md has the figures.
 * Loses        detail of tasks that find no slot (lost_slots): they share row 0. Tasks whose
 *              storage is refused (lost_tasks). Nothing by slow reading.
 * Beware       no helper that reads kernel memory by address, no trampoline, no kprobe: locked down
 *              kernels refuse them. Every access is typed.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "../../draw.h"
#include "accounting.h"

char gpl[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, CELLS * sizeof(struct timed_cell));
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(u32));
} free_slots SEC(".maps");

/* Slots of threads that are over. It has room for all of them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} done SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tag);
} tags SEC(".maps");

/* Watched threads, held from when they get their slot until their figures are final and have been
 * read: so each is found without a walk over all tasks, and no end goes unseen. */
typedef struct task_struct held_task; /* clang 14 loses the tag of a pointer to a struct that has no
                                         other name */
struct held {
	held_task __kptr *task;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct held);
} held SEC(".maps");

struct task_struct *bpf_task_acquire(struct task_struct *task) __ksym __weak;
void bpf_task_release(struct task_struct *task) __ksym __weak;

/* Processes to be attached, by number, and when each began: 0 until a walk has found it. Later
 * walks must not take in another one that has the number then. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u64);
} targets SEC(".maps");

/* Set before loading. */
const volatile u32  one_in = 1;            /* children followed, */
const volatile u32  drawn_from = 0;        /* in that generation and later, */
const volatile u64  seed = 0;              /* by draws from this */
const volatile bool counts_always = false; /* else only while `counting` */
const volatile bool is_budgeted = false;   /* what the hook costs the machine is kept account of */
const volatile bool is_timed = false;      /* cells are timed ones */
const volatile bool has_32_bit = false;    /* programs of 32 bits may run here */
const volatile bool holds = false;         /* this kernel lets a task be held */
const volatile u32  slots = 1;             /* rows */
const volatile u32  leaving_mask = 0;      /* of places in `leaving`: fewer where slots are few */
const volatile u64  cgroup_id = 0;
const volatile int  cgroup_hierarchy = 0;
const volatile s32  excepted[2] = {}; /* processes: the monitor, and who reads it */

/* Shared with the reader. */
struct place     places[PLACES];
u32              cell_of[TABLES * NUMBERS];
u32              cells_used;
u32              counting;         /* whether calls are being counted at this moment */
u32              attaching;        /* whether a walk takes in targets */
u32              is_thorough;      /* whether a walk finds those too that have exited */
u32              only_settles;     /* whether a walk reads only those that have exited */
u32              enrolled;         /* rows that were ever given */
u32              changed[CHANGED]; /* slots that the last walk found changed, */
u32              changed_count;    /* how many */
u32              attached;         /* how many the last walk took in */
u32              wants_walk;       /* a walk should take in targets */
u32              walk;             /* its number */
u32              slots_highest;    /* in use so far */
u32              wake_below;       /* slots: fewer of them free wake the reader */
u32              slots_free;
u32              leaving[LEAVING];
u32              leaving_next;
u32              exited; /* rows that are not over though their thread has exited */
u64              shared_exits, shared_ends; /* of threads that have no slot of their own */
u64              children_made;
u64              lost_slots, lost_tasks;
u64              unfollowed;
struct counters  unfollowed_costs;
u64              other_calls[TABLES * NUMBERS]; /* what went to CELL_OTHER, by number */
u64              anchor;
u32              window;                         /* number of the one that is open, or was last */
u64              window_begin_ns, window_end_ns; /* end: 0 while it is open */
struct occupant  occupants[PROCESSORS];
struct allowance allowances[PROCESSORS];
u32 is_spent; /* whether some processor has used up its allowance since that was last set to 0 */

/* Registers' distance from something fixed: the verifier lets pointers be subtracted, not
 * shifted. */
static __always_inline u64 key_of(struct pt_regs *regs)
{
	return (u64)((char *)regs - (char *)&anchor);
}

static __always_inline struct place *place_of(u64 key)
{
	return &places[(key >> STACK_SHIFT) & (PLACES - 1)];
}

static void settle(struct task_struct *task, u32 slot)
{
	u64           key = key_of((struct pt_regs *)bpf_task_pt_regs(task));
	struct place *place = place_of(key);
	u64           there = __sync_val_compare_and_swap(&place->key, 0, key);

	if (there == 0 || there == key)
		place->slot = slot;
	else
		place->several = 1;
}

static void unsettle(struct task_struct *task)
{
	u64           key = key_of((struct pt_regs *)bpf_task_pt_regs(task));
	struct place *place = place_of(key);

	__sync_val_compare_and_swap(&place->key, key, 0);
}

/* The slot whose registers these are; 0 for row 0 goes by *is_followed. */
static __always_inline bool find(struct pt_regs *regs, u32 *slot)
{
	u64           key = key_of(regs);
	struct place *place = place_of(key);
	struct tag   *tag;

	if (place->key == key) {
		*slot = place->slot;
		return true;
	}
	if (!place->several)
		return false;
	tag = bpf_task_storage_get(&tags, bpf_get_current_task_btf(), NULL, 0);
	if (!tag || tag->kind != TAG_FOLLOWED)
		return false;
	*slot = tag->slot;
	return true;
}

static __always_inline void read_counters(struct task_struct *task, struct counters *now)
{
#define COUNTER(name, source) now->name = task->source;
	COUNTERS_OF_TASK(COUNTER)
#undef COUNTER
}

/* A macro, because the kernel's own array is wider than ours: the index must be part of the
 * relocated access. */
#define PAGES(mm, kind)                                                                \
	(bpf_core_field_exists(((struct mm_struct___before_6_2 *)mm)->rss_stat.count)  \
	         ? ((struct mm_struct___before_6_2 *)mm)->rss_stat.count[kind].counter \
	         : (mm)->rss_stat[kind].count)

static __always_inline u64 not_negative(s64 count)
{
	return count < 0 ? 0 : count;
}

static __always_inline void read_memory(struct task_struct *task, struct row *row)
{
	struct mm_struct *mm = task->mm;

	if (!mm)
		return;
	row->virtual_end = mm->total_vm;
	row->virtual_peak = mm->hiwater_vm > row->virtual_end ? mm->hiwater_vm : row->virtual_end;
	row->memory_end = not_negative(PAGES(mm, 0) + PAGES(mm, 1) + PAGES(mm, 3));
	row->memory_peak = mm->hiwater_rss > row->memory_end ? mm->hiwater_rss : row->memory_end;
	row->swap_end = not_negative(PAGES(mm, 2));
}

static __always_inline void name(struct task_struct *task, char into[PROGRAM_NAME])
{
	for (int i = 0; i < PROGRAM_NAME; i++)
		into[i] = task->comm[i];
}

static __always_inline void add(struct counters *sum, const struct counters *part)
{
	u64       *into = (u64 *)sum;
	const u64 *from = (const u64 *)part;

	for (int i = 0; i < COUNTERS; i++)
		__sync_fetch_and_add(&into[i], from[i]);
}

/* A slot; 0 if none is free. */
static __always_inline u32 take_slot(void)
{
	u32 slot = 0, highest;

	if (bpf_map_pop_elem(&free_slots, &slot)) {
		__sync_fetch_and_add(&lost_slots, 1);
		return 0;
	}
	__sync_fetch_and_sub(&slots_free, 1);
	/* Two processors may be here at once, and neither may undo what the other has said. */
	highest = slots_highest;
	for (int tries = 0; tries < 64 && slot > highest; tries++) {
		u32 there = __sync_val_compare_and_swap(&slots_highest, highest, slot);

		if (there == highest)
			break;
		highest = there;
	}
	return slot;
}

static __always_inline void hold(struct task_struct *task, u32 slot)
{
	struct held        *place = bpf_map_lookup_elem(&held, &slot);
	struct task_struct *mine;

	if (!place)
		return;
	mine = bpf_task_acquire(task);
	if (!mine)
		return;
	mine = bpf_kptr_xchg(&place->task, mine);
	if (mine)
		bpf_task_release(mine);
}

/* Gives a followed task its row. The reader has cleared the row and its cells when it gave the slot
 * back. */
static __always_inline void enrol(struct task_struct *task, struct tag *tag, s32 parent,
                                  bool is_new)
{
	u32         slot = take_slot();
	struct row *row = bpf_map_lookup_elem(&rows, &slot);

	tag->slot = slot;
	tag->kind = TAG_FOLLOWED;
	settle(task, slot);
	if (!row || !slot)
		return;
	row->attached = !is_new;
	row->pid = task->pid;
	row->process = task->tgid;
	row->parent = parent;
	row->generation = tag->generation;
	row->begin_ns = task->group_leader->start_boottime;
	row->watched_ns = is_new ? task->start_boottime : bpf_ktime_get_boot_ns();
	name(task, row->program);
	read_counters(task, &row->now);
	read_memory(task, row);
	row->virtual_begin = row->virtual_end;
	row->memory_begin = row->memory_end;
	if (holds)
		hold(task, slot);
	row->state = ROW_LIVE;
	__sync_fetch_and_add(&enrolled, 1);
}

enum { CGROUPS_DEEP = 32 }; /* in one another; what is deeper is not ours */

/* Whether it is the control group that is watched, or one below that. */
static __always_inline bool is_watched(struct cgroup *cgroup)
{
	if (cgroup->root->hierarchy_id != cgroup_hierarchy)
		return false;
	for (int i = 0; i < CGROUPS_DEEP && cgroup; i++) {
		if (cgroup->kn->id == cgroup_id)
			return true;
		cgroup = cgroup->self.parent ? cgroup->self.parent->cgroup : NULL;
	}
	return false;
}

/* A process may be made into the control group that is watched, by one outside it. */
static void take_in_newborn(struct task_struct *parent, struct task_struct *child)
{
	struct tag *tag;

	if (!cgroup_id || cgroup_hierarchy || !is_watched(child->cgroups->dfl_cgrp) ||
	    child->tgid == excepted[0] || child->tgid == excepted[1])
		return;
	tag = bpf_task_storage_get(&tags, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!tag)
		__sync_fetch_and_add(&lost_tasks, 1);
	else if (tag->kind == TAG_NONE)
		enrol(child, tag, parent->tgid, true);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct tag *mine = bpf_task_storage_get(&tags, parent, NULL, 0), *tag;
	bool        is_thread = child->tgid == parent->tgid;
	bool        follow;

	if (!mine && !is_thread)
		take_in_newborn(parent, child);
	if (!mine || mine->kind == TAG_HELD)
		return 0;
	if (mine->kind == TAG_NONE) {
		/* It is being taken in at this very moment: the next walk finds its child. */
		__sync_fetch_and_add(&lost_tasks, 1);
		wants_walk = 1;
		return 0;
	}
	follow = mine->kind == TAG_FOLLOWED;
	if (follow)
		settle(parent, mine->slot); /* taken in just now, perhaps: its call is to be counted
		                               as the child is */
	if (follow && !is_thread) {
		u32         slot = mine->slot;
		struct row *row = bpf_map_lookup_elem(&rows, &slot);

		if (row && slot)
			row->children++;
		else if (row)
			__sync_fetch_and_add(&row->children, 1);
		if (one_in > 1 && mine->generation + 1 >= drawn_from)
			follow = draw_follows(seed, __sync_fetch_and_add(&children_made, 1),
			                      one_in);
	}
	tag = bpf_task_storage_get(&tags, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!tag) {
		/* It is refused while this processor is within another such request, which was
		 * interrupted: the walk over all tasks when attaching. The next one takes the child
		 * in. */
		__sync_fetch_and_add(&lost_tasks, 1);
		wants_walk = 1;
		return 0;
	}
	tag->generation = mine->generation + !is_thread;
	if (follow) {
		enrol(child, tag, parent->tgid, true);
		return 0;
	}
	tag->kind = TAG_UNFOLLOWED;
	if (!is_thread)
		__sync_fetch_and_add(&unfollowed, 1);
	return 0;
}

/* The program's own figures begin here: for the command, which was ours until now, all of them. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *binary)
{
	struct tag *tag = bpf_task_storage_get(&tags, task, NULL, 0);
	struct row *row;
	u32         slot;

	if (!tag || tag->kind == TAG_UNFOLLOWED)
		return 0;
	if (tag->kind == TAG_HELD) {
		enrol(task, tag, task->real_parent->tgid, false);
		slot = tag->slot;
		row = bpf_map_lookup_elem(&rows, &slot);
		if (row && slot) {
			row->base = row->now;
			row->attached = false;
			row->most_before = task->signal->maxrss;
		}
		return 0;
	}
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (!row || !slot)
		return 0;
	__builtin_memcpy(row->program_before, row->program, PROGRAM_NAME);
	name(task, row->program);
	row->pid = task->pid;
	row->most_before = task->signal->maxrss;
	read_memory(task, row);
	row->virtual_begin = row->virtual_end;
	row->memory_begin = row->memory_end;
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int number, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct tag *tag = bpf_task_storage_get(&tags, bpf_get_current_task_btf(), NULL, 0);
	struct row *row;
	u32         slot;

	if (!tag || tag->kind != TAG_FOLLOWED)
		return 0;
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (row)
		__sync_fetch_and_add(&row->signals, 1);
	return 0;
}

/* The cell of that call for everybody, given when it is first made. */
static __noinline u32 new_cell(u32 number)
{
	u32 index = __sync_fetch_and_add(&cells_used, 1) + 1;
	u32 there;

	if (index > CELL_OTHER)
		index = CELL_OTHER;
	switch (number) {
	case 56: /* clone, fork, vfork, clone3 */
	case 57:
	case 58:
	case 435:
	case NUMBERS + 2: /* of 32 bits */
	case NUMBERS + 120:
	case NUMBERS + 190:
	case NUMBERS + 435:
		index |= RETURNS_TWICE;
	}
	there = __sync_val_compare_and_swap(&cell_of[number & (TABLES * NUMBERS - 1)], 0, index);
	return there ? there : index;
}

/* What a call's number stands for in cell_of. rt_sigreturn has overwritten its number by -1. */
static __always_inline u32 number_of(struct pt_regs *regs)
{
	u64 number = regs->orig_ax;

	if ((s64)number == -1)
		number = 15;
	if (number >= NUMBERS)
		number = NUMBERS - 1;
	if (has_32_bit && bpf_get_current_task_btf()->thread_info.status & 2)
		number += NUMBERS;
	return number;
}

static __always_inline u32 cell_for(u32 number)
{
	u32 index = cell_of[number & (TABLES * NUMBERS - 1)];

	return index ? index : new_cell(number);
}

static __always_inline void count(u32 slot, u32 number, long result)
{
	u32          index = cell_for(number);
	struct cell *row;
	u64          step;

	/* The child's return from the call that made it: its parent's is the one. */
	if (index & RETURNS_TWICE && result == 0)
		return;
	index &= CELLS - 1;
	row = bpf_map_lookup_elem(&cells, &slot);
	if (!row)
		return;
	step = 1 + ((u64)((u64)result >= (u64)-4095) << 32);
	if (index == CELL_OTHER)
		__sync_fetch_and_add(&other_calls[number & (TABLES * NUMBERS - 1)], step);
	if (slot)
		row[index].count += step;
	else
		__sync_fetch_and_add(&row[index].count, step);
}

/* Slot 0 is never over: the reader knows what is meant. */
static __noinline int ask_for_more(struct allowance *mine)
{
	u32 nobody = 0;

	if (!mine)
		return 0;
	mine->wake_at = (u64)-1;
	is_spent = 1;
	bpf_ringbuf_output(&done, &nobody, sizeof nobody, BPF_RB_FORCE_WAKEUP);
	return 0;
}

static __always_inline void spend(void)
{
	u32               processor = bpf_get_smp_processor_id();
	struct allowance *mine;

	if (processor >= PROCESSORS)
		return;
	mine = &allowances[processor];
	if (++mine->hits >= mine->wake_at)
		ask_for_more(mine);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long result)
{
	u32 slot;

	if (is_budgeted)
		spend();
	/* Hooked in is not yet counting: a window has sharp edges. */
	if (!counts_always && !counting)
		return 0;
	if (find(regs, &slot))
		count(slot, number_of(regs), result);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter_timed, struct pt_regs *regs, long number)
{
	struct row *row;
	u32         slot;

	if (!find(regs, &slot) || !slot)
		return 0;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (row)
		row->entered_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline u32 bucket_of(u64 time_ns)
{
	u64 rest = time_ns >> BUCKET_FIRST;
	u32 bucket = 0;

	if (rest >> 16) {
		bucket += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		bucket += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		bucket += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		bucket += 2;
		rest >>= 2;
	}
	bucket += rest >> 1 ? 2 : rest;
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return_timed, struct pt_regs *regs, long result)
{
	struct timed_cell *row;
	struct row        *mine;
	u32                slot, number, index;
	u64                time_ns;

	if (!find(regs, &slot))
		return 0;
	number = number_of(regs);
	index = cell_for(number);
	if (index & RETURNS_TWICE && result == 0)
		return 0;
	index &= CELLS - 1;
	row = bpf_map_lookup_elem(&cells, &slot);
	mine = bpf_map_lookup_elem(&rows, &slot);
	if (!row || !mine)
		return 0;
	if (!slot) {
		__sync_fetch_and_add(&row[index].count,
		                     1 + ((u64)((u64)result >= (u64)-4095) << 32));
		return 0;
	}
	row[index].count += 1 + ((u64)((u64)result >= (u64)-4095) << 32);
	if (!mine->entered_ns)
		return 0;
	time_ns = bpf_ktime_get_ns() - mine->entered_ns;
	mine->entered_ns = 0;
	row[index].time_ns += time_ns;
	row[index].histogram[bucket_of(time_ns)]++;
	return 0;
}

/* In windows: how long each has run in them. The kernel's own count of a running thread's time is
 * as old as the last tick, which may lie further back than a window is long. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32              processor = bpf_get_smp_processor_id();
	u64              now = bpf_ktime_get_boot_ns(), since = window_begin_ns;
	struct occupant *occupant;
	struct tag      *tag;
	struct row      *row;
	u32              slot;

	if (processor >= PROCESSORS || now < window_begin_ns)
		return 0;
	if (window_end_ns && now > window_end_ns)
		now = window_end_ns;
	occupant = &occupants[processor];
	if (occupant->window == window)
		since = occupant->since_ns;
	tag = bpf_task_storage_get(&tags, prev, NULL, 0);
	if (tag && tag->kind == TAG_FOLLOWED && tag->slot && now > since) {
		slot = tag->slot;
		row = bpf_map_lookup_elem(&rows, &slot);
		if (row && row->window != window) {
			row->window = window;
			row->window_ns = 0;
		}
		if (row)
			row->window_ns += now - since;
	}
	tag = bpf_task_storage_get(&tags, next, NULL, 0);
	occupant->slot = tag && tag->kind == TAG_FOLLOWED ? tag->slot : 0;
	occupant->since_ns = now;
	occupant->window = window;
	return 0;
}

/* By processor time: what does the thread do that runs just now? */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tag         *tag = bpf_task_storage_get(&tags, task, NULL, 0);
	struct cell        *row;
	struct pt_regs     *regs;
	u32                 slot, index;

	if (!tag || tag->kind != TAG_FOLLOWED)
		return 0;
	slot = tag->slot;
	row = bpf_map_lookup_elem(&cells, &slot);
	if (!row)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (context->regs.cs & 3)
		index = CELL_USER;
	else if ((s64)regs->orig_ax < 0)
		index = CELL_KERNEL;
	else
		index = cell_for(number_of(regs)) & (CELLS - 1);
	__sync_fetch_and_add(&row[index].count, 1);
	return 0;
}

static __always_inline void count_timed(u32 slot, u32 number)
{
	u32                index = cell_for(number) & (CELLS - 1);
	struct timed_cell *row = bpf_map_lookup_elem(&cells, &slot);

	if (row)
		__sync_fetch_and_add(&row[index].count, 1);
}

/* exit and exit_group do not return. */
static __always_inline void count_exit(struct task_struct *task, u32 slot)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64             number = regs->orig_ax;
	bool            is_32 = has_32_bit && task->thread_info.status & 2;

	if (!counts_always && !counting)
		return;
	if (is_32 ? number != 1 && number != 252 : number != 60 && number != 231)
		return;
	number += is_32 ? NUMBERS : 0;
	if (is_timed)
		count_timed(slot, number);
	else
		count(slot, number, 0);
}

static __always_inline void status_into(struct task_struct *task, struct row *row)
{
	struct signal_struct *signal = task->signal;

	row->by_group = (signal->flags & 4 /* SIGNAL_GROUP_EXIT */) != 0;
	row->status = row->by_group ? signal->group_exit_code : task->exit_code;
}

/* What is in a task that is gone is what wait4 gave. */
static __always_inline void conclude(struct task_struct *task, u32 slot, struct row *row)
{
	struct signal_struct *signal = task->signal;

	read_counters(task, &row->now);
	status_into(task, row);
	row->adjusted_user_ns = signal->prev_cputime.utime;
	row->adjusted_system_ns = signal->prev_cputime.stime;
	row->state = ROW_OVER;
	__sync_fetch_and_sub(&exited, 1);
	bpf_ringbuf_output(&done, &slot, sizeof slot,
	                   slots_free < wake_below ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* Left for the last time: it costs no more. */
static __always_inline bool is_dead(struct task_struct *task)
{
	return task->__state == 128 /* TASK_DEAD */ && !task->on_cpu;
}

/* Takes what is final of the held thread of that slot, if it is over: dead and reaped. Whoever
 * takes it out of its place has it to himself. */
static __noinline int settle_up(u32 slot)
{
	struct held        *place = bpf_map_lookup_elem(&held, &slot);
	struct row         *row = bpf_map_lookup_elem(&rows, &slot);
	struct task_struct *task;

	if (!place || !row)
		return 0;
	task = bpf_kptr_xchg(&place->task, NULL);
	if (!task)
		return 0;
	if (is_dead(task) && !task->sighand) {
		conclude(task, slot, row);
	} else {
		if (is_dead(task)) {
			read_counters(task, &row->now);
			row->walk = walk;
		}
		task = bpf_kptr_xchg(&place->task, task);
		if (!task)
			return 0;
	}
	bpf_task_release(task);
	return 0;
}

/* It leaves its slot to the one that exits that many after it. */
static __always_inline void leave(u32 slot)
{
	u32 place = __sync_fetch_and_add(&leaving_next, 1) & leaving_mask & (LEAVING - 1);
	u32 earlier = __sync_lock_test_and_set(&leaving[place], slot);

	if (earlier)
		settle_up(earlier);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct tag *tag = bpf_task_storage_get(&tags, task, NULL, 0);
	struct row *row;
	u32         slot;

	if (tag && tag->kind == TAG_UNFOLLOWED)
		__sync_fetch_and_add(&shared_exits, 1);
	if (!tag || tag->kind != TAG_FOLLOWED)
		return 0;
	slot = tag->slot;
	unsettle(task);
	count_exit(task, slot);
	row = bpf_map_lookup_elem(&rows, &slot);
	if (!row || !slot) {
		__sync_fetch_and_add(&shared_exits, 1);
		return 0;
	}
	row->end_ns = bpf_ktime_get_boot_ns();
	status_into(task, row);
	name(task, row->program);
	read_counters(task, &row->now);
	read_memory(task, row);
	/* Until Linux 6.15 the memory is gone by now. The last thread's end has brought the
	 * kernel's own peak up to date. */
	row->memory_is_old = !task->mm && !task->signal->live.counter;
	row->most = task->signal->maxrss;
	row->state = ROW_EXITED;
	__sync_fetch_and_add(&exited, 1);
	if (holds)
		leave(slot);
	return 0;
}

/* It has been reaped, nothing refers to it any more, and a grace period of RCU is over. This is in
 * the middle of whatever runs then on that processor; a kernel may run no program amid a process
 * that it protects (seen: process 1), so that an end goes unseen. Therefore those that have a slot
 * are held instead, where that is possible. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct tag     *tag = bpf_task_storage_get(&tags, task, NULL, 0);
	struct counters last = {};
	struct row     *row;
	u32             slot;

	if (!tag || tag->kind == TAG_HELD || tag->kind == TAG_NONE)
		return 0;
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (!row)
		return 0;
	if (tag->kind == TAG_FOLLOWED && slot) {
		if (!holds)
			conclude(task, slot, row);
		return 0;
	}
	read_counters(task, &last);
	add(tag->kind == TAG_UNFOLLOWED ? &unfollowed_costs : &row->now, &last);
	__sync_fetch_and_add(&shared_ends, 1);
	return 0;
}

/* *is_new: its fork would have been seen, for its parent was watched by then. */
static __always_inline bool is_target(struct task_struct *task, s32 *parent, u32 *generation,
                                      bool *is_new)
{
	struct task_struct *elder = task->real_parent;
	u32                 process = task->tgid, slot;
	u64                *begin_ns;
	struct tag         *tag;
	struct row         *row;

	if (task->tgid == excepted[0] || task->tgid == excepted[1])
		return false;
	*parent = elder->tgid;
	*is_new = false;
	begin_ns = bpf_map_lookup_elem(&targets, &process);
	if (begin_ns && !*begin_ns)
		*begin_ns = task->group_leader->start_boottime;
	if (begin_ns && *begin_ns == task->group_leader->start_boottime) {
		*generation = 0;
		return true;
	}
	tag = bpf_task_storage_get(&tags, elder, NULL, 0);
	if (!tag || tag->kind != TAG_FOLLOWED)
		return false;
	*generation = tag->generation + 1;
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	*is_new = row && slot && task->start_boottime >= row->watched_ns;
	return true;
}

static __always_inline void attach(struct task_struct *task)
{
	struct tag *tag;
	u32         generation, slot;
	s32         parent;
	struct row *row;
	bool        is_new;

	if (!task->signal->live.counter || !is_target(task, &parent, &generation, &is_new))
		return;
	tag = bpf_task_storage_get(&tags, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!tag || tag->kind != TAG_NONE)
		return;
	tag->generation = generation;
	enrol(task, tag, parent, is_new);
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (row && slot) {
		if (!is_new)
			row->base = row->now;
		row->late = is_new;
		if (task->exit_state) {
			row->late = 1;
			row->state = ROW_EXITED;
			__sync_fetch_and_add(&exited, 1);
		}
	}
	attached++;
}

/* Brings a row up to date. Of a thread that has not run since it was read last nothing can have
 * changed, but what others took from its memory: a thousand sleepers must cost next to nothing. */
static __always_inline void refresh(struct task_struct *task, u32 slot)
{
	struct row *row = bpf_map_lookup_elem(&rows, &slot);
	u32         processor = task->on_cpu ? task->thread_info.cpu + 1 : 0;

	if (!row || row->state == ROW_OVER)
		return;
	if (row->processor != processor)
		row->processor = processor;
	if (!is_thorough && !processor && row->read_run_ns == task->se.sum_exec_runtime)
		return;
	if (changed_count < CHANGED)
		changed[changed_count & (CHANGED - 1)] = slot;
	changed_count++;
	row->walk = walk;
	read_counters(task, &row->now);
	row->read_run_ns = row->now.run_ns;
	if (row->state == ROW_LIVE && task->exit_state) {
		/* It exited while it was being taken in. */
		row->late = 1;
		if (!row->end_ns)
			row->end_ns = bpf_ktime_get_boot_ns();
		status_into(task, row);
		row->state = ROW_EXITED;
		__sync_fetch_and_add(&exited, 1);
	}
	if (row->state != ROW_LIVE)
		return;
	read_memory(task, row);
	name(task, row->program);
}

static long refresh_slot(u32 index, void *context)
{
	u32                 slot = index + 1;
	struct row         *row = bpf_map_lookup_elem(&rows, &slot);
	struct held        *place = bpf_map_lookup_elem(&held, &slot);
	struct task_struct *task;

	if (!row || !place)
		return 1;
	if (row->state == ROW_EXITED)
		settle_up(slot);
	else if (row->state == ROW_LIVE && !only_settles && (task = place->task))
		refresh(task, slot);
	return slot >= slots_highest;
}

/* Without references every task is visited, and ours are picked out; `several` tells who is asked
 * for his tag. */
static __always_inline bool is_ours(struct task_struct *task)
{
	u64           key = key_of((struct pt_regs *)bpf_task_pt_regs(task));
	struct place *place = place_of(key);

	return is_thorough || place->key == key || place->several;
}

/* A walk over all tasks takes in who is to be watched. With references it may be one over ourselves
 * alone: those who are watched are read when it is over. */
SEC("iter/task")
int on_walk(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct tag         *tag;

	if (!task) {
		if (holds)
			bpf_loop(slots, refresh_slot, NULL, 0);
		return 0;
	}
	if (only_settles || (!attaching && (holds || !is_ours(task))))
		return 0;
	tag = bpf_task_storage_get(&tags, task, NULL, 0);
	if (!tag || tag->kind == TAG_NONE) {
		if (attaching)
			attach(task);
		return 0;
	}
	if (!holds && tag->kind == TAG_FOLLOWED && tag->slot)
		refresh(task, tag->slot);
	return 0;
}

/* A process that is moved into the cgroup that is watched. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup, struct cgroup *cgroup, const char *path, struct task_struct *task,
             bool threadgroup)
{
	u64         begin_ns = task->group_leader->start_boottime;
	struct tag *tag;
	u32         slot;
	struct row *row;

	if (!is_watched(cgroup))
		return 0;
	tag = bpf_task_storage_get(&tags, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!tag) {
		__sync_fetch_and_add(&lost_tasks, 1);
		return 0;
	}
	if (tag->kind != TAG_NONE)
		return 0;
	/* Its other threads come with it, and are found by the next walk. */
	slot = task->tgid;
	bpf_map_update_elem(&targets, &slot, &begin_ns, 0);
	wants_walk = 1;
	enrol(task, tag, task->real_parent->tgid, false);
	slot = tag->slot;
	row = bpf_map_lookup_elem(&rows, &slot);
	if (row && slot)
		row->base = row->now;
	return 0;
}
