/* vmlinux.h -- what the monitor's BPF programs know of the kernel's types.
 *
 * A subset, by name: libbpf finds every field in the running kernel's own type information (BTF)
 * when it loads the programs, so that offsets here mean nothing and one object serves all kernels
 * (CO-RE).
 */
#ifndef STEELYARD_VMLINUX_H
#define STEELYARD_VMLINUX_H

typedef unsigned char      __u8;
typedef unsigned short     __u16;
typedef unsigned int       __u32;
typedef unsigned long long __u64;
typedef signed char        __s8;
typedef short              __s16;
typedef int                __s32;
typedef long long          __s64;
typedef __u16              __be16;
typedef __u32              __be32;
typedef __u32              __wsum;
typedef __u64              u64;
typedef __u32              u32;
typedef __u8               u8;
typedef __s64              s64;
typedef __s32              s32;
typedef _Bool bool;
typedef int pid_t;
enum { false, true };

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long cs;
	unsigned long orig_ax;
};

struct thread_info {
	u32 status;
	u32 cpu;
};

struct percpu_counter {
	s64 count;
};

struct mm_struct {
	struct percpu_counter rss_stat[4]; /* file, anonymous, swapped out, shared; approximately */
	unsigned long         total_vm;
	unsigned long         hiwater_vm;
	unsigned long         hiwater_rss;
};

/* Before 6.2. */
typedef struct {
	s64 counter;
} atomic_long_t;
struct mm_rss_stat {
	atomic_long_t count[4];
};
struct mm_struct___before_6_2 {
	struct mm_rss_stat rss_stat;
};

struct prev_cputime {
	u64 utime;
	u64 stime;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t      live; /* threads that have not exited */
	int           group_exit_code;
	unsigned int  flags;
	unsigned long maxrss; /* pages, over all its programs; up to date at each exec and at its
	                         end */
	struct prev_cputime prev_cputime;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_io_accounting {
	u64 rchar;
	u64 wchar;
	u64 syscr;
	u64 syscw;
	u64 read_bytes;
	u64 write_bytes;
	u64 cancelled_write_bytes;
};

struct sighand_struct;

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup              *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node        *kn;
	struct cgroup_root        *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct thread_info        thread_info;
	unsigned int              flags;
	int                       on_cpu;
	unsigned int              __state;
	struct mm_struct         *mm;
	int                       exit_state;
	int                       exit_code;
	pid_t                     pid;
	pid_t                     tgid;
	struct task_struct       *real_parent;
	struct task_struct       *group_leader;
	u64                       utime;
	u64                       stime;
	unsigned long             nvcsw;
	unsigned long             nivcsw;
	u64                       start_boottime;
	unsigned long             min_flt;
	unsigned long             maj_flt;
	char                      comm[16];
	struct signal_struct     *signal;
	struct sighand_struct    *sighand; /* NULL once it has been reaped */
	struct sched_entity       se;
	struct sched_info         sched_info;
	struct task_io_accounting ioac;
	struct css_set           *cgroups;
};

struct linux_binprm;
struct kernel_siginfo;
struct k_sigaction;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64              session_id;
	u64              seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct   *task;
};

#pragma clang attribute pop

/* What a program for perf events gets: x86-64's registers, whose place the verifier knows. */
struct bpf_user_pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};
struct bpf_perf_event_data {
	struct bpf_user_pt_regs regs;
	u64                     sample_period;
	u64                     addr;
};

#endif
