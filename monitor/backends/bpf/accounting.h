/* accounting.h -- what crosses between the kernel's side of the monitor and ours.
 *
 * Each watched thread has a slot: a row with what the kernel counts of it anyway, and a row of
 * cells with its system calls by type. A row is written by its own thread alone (or by the hook at
 * its end), so nothing is locked; readers take it as it is. Row 0 is everybody's for whom no slot
 * was free; that one is written atomically.
 */
#ifndef STEELYARD_ACCOUNTING_H
#define STEELYARD_ACCOUNTING_H

/* Rows that a walk found changed; more than that, and all are to be read. */
enum { CHANGED = 4096 };

enum row_state { ROW_FREE, ROW_LIVE, ROW_EXITED, ROW_OVER };

enum { PROGRAM_NAME = 16 };

/* The figures that the kernel counts of a task anyway, and where its task_struct has them; user and
 * system time in ticks, as ns. */
#define COUNTERS_OF_TASK(COUNTER)                \
	COUNTER(cpu_user_ns, utime)              \
	COUNTER(cpu_system_ns, stime)            \
	COUNTER(run_ns, se.sum_exec_runtime)     \
	COUNTER(wait_ns, sched_info.run_delay)   \
	COUNTER(faults_minor, min_flt)           \
	COUNTER(faults_major, maj_flt)           \
	COUNTER(switches_voluntary, nvcsw)       \
	COUNTER(switches_involuntary, nivcsw)    \
	COUNTER(reads, ioac.syscr)               \
	COUNTER(characters_read, ioac.rchar)     \
	COUNTER(writes, ioac.syscw)              \
	COUNTER(characters_written, ioac.wchar)  \
	COUNTER(bytes_read, ioac.read_bytes)     \
	COUNTER(bytes_written, ioac.write_bytes) \
	COUNTER(bytes_cancelled, ioac.cancelled_write_bytes)

struct counters {
#define COUNTER(name, source) __u64 name;
	COUNTERS_OF_TASK(COUNTER)
#undef COUNTER
};
enum { COUNTERS = sizeof(struct counters) / sizeof(__u64) };

struct row {
	/* The first line of the cache. */
	__u32 state;
	__u32 attached;     /* it ran before it was watched */
	__s32 pid, process; /* thread and thread group */
	__s32 parent;       /* process */
	__u32 generation;
	__u32 processor;   /* that it ran on at the last walk, plus one; 0: on none */
	__u32 by_group;    /* whether `status` is that of the whole process, ended by one for all */
	__u64 read_run_ns; /* its run time then: all that reading an idle thread needs is in these
	                      64 bytes */
	__u64           begin_ns; /* of its process */
	__u64           watched_ns;
	__u64           end_ns; /* 0: it runs */
	__s32           status;
	__u32           children;
	__u64           signals;
	char            program[PROGRAM_NAME], program_before[PROGRAM_NAME];
	struct counters base;                       /* when it came to be watched */
	struct counters now;                        /* when it was last read; final once ROW_OVER */
	__u64 adjusted_user_ns, adjusted_system_ns; /* of the process: what wait4 gave; 0: nobody
	                                               asked */
	__u64 virtual_begin, virtual_end, virtual_peak;
	__u64 memory_begin, memory_end, memory_peak;
	__u64 swap_end;
	__u64 most_before, most; /* pages: the kernel's own peak over the process's programs, at the
	                            last exec and at the end */
	__u32 memory_is_old; /* its memory was gone when it ended: the figures are of when it was
	                        read last */
	__u32 unused;
	__u64 entered_ns; /* into the system call that it is in; 0: none that we saw begin */
	__u32 walk;       /* number of the last walk that brought `now` up to date */
	__u32 window;     /* that window_ns is of */
	__u64 window_ns;  /* it ran in that one, up to its last switch */
	__u32 late; /* calls of its may be missing: it was taken in after its birth, or amid its
	               exit */
} __attribute__((aligned(64)));

/* A type of call: how many in the lower half, errors in the upper. The sum of differences is exact
 * as long as fewer than 2^32 calls are made between two readings. At PROFILE: samples. */
struct cell {
	__u64 count;
};
enum { BUCKETS = 28, BUCKET_FIRST = 7 }; /* see HISTOGRAM_BUCKETS */
struct timed_cell {
	__u64 count;
	__u64 time_ns;
	__u32 histogram[BUCKETS];
};

/* Calls get their cells in the order in which anybody makes them first: few programs make more than
 * sixty types. 0 is none yet; those behind the last go to one. */
enum { CELLS = 128, CELL_OTHER = 125, CELL_KERNEL = 126, CELL_USER = 127 };
enum { NUMBERS = 512, TABLES = 2 }; /* call numbers, in the native table and in that of 32 bits */
enum { RETURNS_TWICE = 0x80 };      /* of an index: the child's return from it is not a call */

/* Where a thread is found without a hash: by the address of its registers, which lie at the end of
 * its stack. Two threads of one place are told apart by the key; `several` sends those to a slower
 * way. */
struct place {
	__u64 key;
	__u32 slot;
	__u32 several;
};
enum { PLACES = 16384, STACK_SHIFT = 14 };

/* What a processor has done since the window opened. */
struct occupant {
	__u64 since_ns; /* when the one that runs began to */
	__u32 window;   /* number of the window that the rest is of */
	__u32 slot;     /* of the one that runs; 0: of none */
};
enum { PROCESSORS = 1024 };

/* At BUDGET: how often a processor has come to the hook on system calls, whosever calls those were,
 * and at how many it wakes the reader. Each has a line of the cache to itself. */
struct allowance {
	__u64 hits, wake_at;
} __attribute__((aligned(64)));

/* Slots of the last threads that have exited; who comes after them checks whether they
 * are over. */
enum { LEAVING = 128 };

/* A task's storage. */
enum tag_kind { TAG_NONE, TAG_HELD, TAG_FOLLOWED, TAG_UNFOLLOWED };
struct tag {
	__u32 kind;
	__u32 slot;
	__u32 generation;
	__u32 unused;
};

#endif
