/* monitor.h -- what a backend of the monitor sees, and what all of them produce: processes.
 *
 * A backend (a folder of backends/) finds out what processes cost; everything else is here: who is
 * watched, when to read, what a record looks like. All of them fill the same `struct process`; what
 * one could not see stays UNKNOWN, and is written as null.
 */
#ifndef STEELYARD_MONITOR_H
#define STEELYARD_MONITOR_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define UNKNOWN UINT64_MAX /* of any figure: it was not seen */

enum detail { LIFE, BUDGET, CALLS, PROFILE, LATENCY, DETAILS };

/* What is to be watched, and how: the command line, checked. */
struct order {
	enum detail  detail;
	const char  *backend; /* by name; NULL: the best that works here */
	char       **command; /* NULL-ended; NULL: none */
	const pid_t *pids; /* processes that run already; their descendants are watched with them */
	size_t       pid_count;
	pid_t except; /* a process that is not watched whatever else is, nor are we: who reads us;
	                 0: none */
	const char *cgroup;   /* its directory; NULL: none */
	uint64_t    every_ns; /* between readings; 0: no series */
	uint64_t    for_ns;   /* stop after that; 0: until the command ends or a signal comes */
	uint32_t    children; /* one in that many of a followed process's children is followed, by
	                         chance */
	uint32_t drawn_from;  /* the first generation that is drawn; all before it are followed */
	uint64_t seed;        /* of these draws */
	double budget;  /* share of one processor's time that counting calls may cost, all processes
	                   together */
	uint32_t slots; /* processes and threads watched at one time; 0: what suits the detail */
	int      threads; /* write a record of each thread as well */
	int      prove; /* alternate windows with and without the hook, and record the work done in
	                   each */
};

enum figure {
#define FIGURE(name, ...) name,
#include "figures.def"
#undef FIGURE
	FIGURES
};

enum figure_kind {
	TOTAL = 1,
	THREADS = 2,
	BEGIN = 4,
	END = 8,
	PEAK = 16,
	SUMS = TOTAL | THREADS,
	LEVELS = BEGIN | END | PEAK,
	ALL = SUMS | LEVELS,
};

extern const struct declaration {
	const char      *name;
	enum figure_kind kind;
} figures[FIGURES];

/* Of a process, a thread or several: UNKNOWN where it is not known, in all of these functions. They
 * touch figures of the kinds that are given, and leave the others alone. */
void figures_forget(uint64_t figure[FIGURES], unsigned kinds);
/* Copies those that are known. */
void figures_take(uint64_t figure[FIGURES], const uint64_t from[FIGURES], unsigned kinds);
/* Copies those that are larger. */
void figures_raise(uint64_t figure[FIGURES], const uint64_t to[FIGURES], unsigned kinds);
/* Sums, and of levels the larger. Unknown and known give the known: a part that was not seen is
 * said elsewhere. */
void figures_add(uint64_t sum[FIGURES], const uint64_t part[FIGURES], unsigned kinds);
/* What came to it since; the kernel's sums are not all taken at one instant, so never below 0. */
void figures_subtract(uint64_t figure[FIGURES], const uint64_t first[FIGURES], unsigned kinds);
/* The program has just begun, or was attached: levels at the beginning are those of now. */
void figures_begin(uint64_t figure[FIGURES]);
/* Until here cpu_user_ns and cpu_system_ns are the ticks that were seen in user and in system mode:
 * they become the kernel's own split of the exact run time (cputime_adjust). */
void figures_split_time(uint64_t figure[FIGURES]);

/* Which table of numbers a system call is from. */
enum abi { ABI_NATIVE, ABI_32, ABI_X32, ABIS };

enum {
	HISTOGRAM_BUCKETS = 28
}; /* of 2^6 to 2^34 ns: bucket b holds times below 2^(b+7), the last all others */

/* One type of system call, as one process made it. */
struct call_type {
	enum abi abi;
	uint32_t number;  /* OTHER_CALLS: those that found no room of their own */
	uint64_t calls;   /* that returned, restarted ones each time, and exit; those counted, at
	                     BUDGET */
	uint64_t  errors; /* of those, results from -4095 to -1 */
	uint64_t  in_windows, errors_in_windows; /* at BUDGET: how many of these were in windows */
	uint64_t  time_ns;                       /* inside it, at LATENCY; else UNKNOWN */
	uint64_t *histogram; /* HISTOGRAM_BUCKETS of them, at LATENCY; else NULL */
	uint64_t  samples;   /* that found the process in it, at PROFILE; else UNKNOWN */
	/* At BUDGET, each window weighted by the length of its period: calls and errors in
	 * windows, */
	double weighted, weighted_errors;
	double squares;  /* the squares of the calls in each, summed over windows, */
	double products; /* and the products of calls and run time, ns */
};
enum { OTHER_CALLS = 0xffff };

enum {
	SAMPLE_NS = 10101010
}; /* at PROFILE, of processor time: 99 a second, out of step with all ticks */

/* A process (a thread group), or one thread of it. Times are ns of the kernel's CLOCK_BOOTTIME. */
struct process {
	pid_t    pid, thread; /* thread: 0 for the process as a whole */
	pid_t    parent;
	uint32_t generation;         /* 0: was named or is the command; 1: its children, ... */
	char     program[16];        /* the kernel's name for it at the end */
	char     program_before[16]; /* before its last exec; empty if it did none while watched */
	int attached; /* it ran before the watch began, and its figures are counted from then */
	uint64_t begin_ns;   /* when it was made */
	uint64_t watched_ns; /* since when its figures count: begin_ns, or when it was attached */
	uint64_t end_ns;     /* UNKNOWN: it ran on when the watch ended */
	int      status;     /* as wait4 gives it; -1: not known */
	uint64_t threads;    /* that it had in all; UNKNOWN */
	uint64_t children;   /* that it made, watched or not; UNKNOWN */
	uint64_t figure[FIGURES];
	uint32_t at_least; /* a bit for each figure that was read before its end: it came to that
	                      much, or more */
	struct call_type *calls; /* in no order; NULL with calls_known 0: its calls were not seen */
	size_t            call_count;
	int               calls_known;
	int               is_missed; /* at BUDGET: calls may have been missed, */
	uint64_t missed_run_ns;      /* for they were counted in windows alone while it ran for so
	                                long */
	uint64_t windows;            /* at BUDGET: how many, and their length in all */
	uint64_t windows_ns;
	uint64_t windows_active;      /* in how many of them it ran, */
	double   windows_run_ns;      /* for how long in all, the counting itself taken off, */
	double   windows_hook_ns;     /* which was that much, by the calibrated price */
	double   windows_weighted_ns; /* the same, each window weighted by the length of its
	                                 period, */
	double   windows_weighted_twice_ns;    /* each weighted by the square of that, */
	double   windows_run_squares;          /* and the squares of that, summed over windows */
	uint64_t samples_user, samples_kernel; /* at PROFILE: outside any system call; else
	                                          UNKNOWN */
};

/* Nothing is known of it. */
void process_clear(struct process *process);
/* Its figures of these kinds are of some moment before its end: sums and peaks become lower bounds,
 * and of the levels at its end nothing is known. */
void process_cut_short(struct process *process, unsigned kinds);
/* The entry of that call, made if it is not there yet. Never NULL. */
struct call_type *process_call(struct process *process, enum abi abi, uint32_t number);
void process_free_calls(struct process *process);
/* With calls of its own. */
void process_copy(struct process *copy, const struct process *process);
/* Adds a thread's or an earlier part's figures and calls; levels are taken as the larger. */
void process_add(struct process *process, const struct process *part);

/* What the monitor says of itself at the end. UNKNOWN where it cannot say. */
struct account {
	uint64_t hook_ns;    /* what one hit of the hook on system calls costs, calibrated here and
	                        now */
	uint64_t       hits; /* of watched processes */
	uint64_t       hits_of_all; /* and of all other processes, for which it costs as much */
	uint64_t       maps_bytes;  /* of the kernel's memory, for us */
	uint64_t       lost_slots;  /* processes and threads that found no slot: in totals only */
	uint64_t       lost_calls;  /* calls that were not counted at all */
	uint64_t       unfollowed;  /* children that --children left out */
	uint64_t       unfollowed_figure[FIGURES]; /* what those cost all the same */
	struct process total; /* everything, with what found no slot; calls_known 0: the calls are
	                         not known */
};

/* What was dropped or not seen, other than slots and calls: counted where it is found out, by any
 * part. What has no sentence of its own is a number in the report. */
enum loss {
	LOST_EVENTS,
	LOST_AT_EXEC,    /* processes that perf's events were taken from at an exec */
	LOST_FROM_SIGHT, /* processes that /proc does not show any more, though they run */
	LOST_FROM_GROUP, /* processes of the watched control group that are not watched */
	LOST_PROCESSORS, /* that were not listened on */
	LOST_END,        /* the command's own, which wait4 has told and the backend has not */
	LOST_COSTS,      /* of the command and the children it waited for: wait4 has told more */
	LOSSES
};
extern uint64_t lost[LOSSES];
uint64_t losses(void); /* all of them */

/* How a wait ended. */
enum woken {
	WOKEN_BY_TIME,
	WOKEN_BY_SIGNAL,  /* `outside` has changed */
	WOKEN_BY_CONTROL, /* the control descriptor has something to say */
	WOKEN_BY_END,     /* nothing is left to be watched */
};

struct backend {
	const char *name;
	int has_own_counters; /* of faults: they leave out some that the kernel's own have */
	/* 0 if it works here and can do what is asked; else -1, with a sentence in `why`. Changes
	 * nothing. */
	int (*probe)(const struct order *order, char *why, size_t why_room);
	/* Once probed: whether it works, but sees so little of the usual figures that one of those
	 * after it is better; then with a sentence in `why`. NULL: never. */
	int (*sees_less)(const struct order *order, char *why, size_t why_room);
	/* What it cannot see, a sentence each, NULL-ended. */
	const char *const *(*missing)(const struct order *order);
	/* Begins to watch. `child` is the command's process, held before its exec (0: none): its
	 * figures count from that exec. Returns 0, or -1 with a sentence in `why`: then it has left
	 * nothing attached. */
	int (*begin)(const struct order *order, pid_t child, char *why, size_t why_room);
	/* Waits until that moment (CLOCK_BOOTTIME), a signal of ours, or until nothing is left.
	 * Processes that end meanwhile may be recorded at once. */
	enum woken (*wait)(uint64_t until_ns);
	/* Writes a reading of each process that has changed since the last. */
	void (*read)(uint64_t now_ns);
	/* What all processes have cost since the watch began, ended ones and unfollowed ones
	 * included, as if one process had. Levels stay UNKNOWN. Returns how many processes there
	 * were. */
	uint64_t (*total)(struct process *total);
	/* Stops watching, leaves nothing attached, and writes a record of every process not written
	 * yet. */
	void (*end)(struct account *account);
};

extern const struct backend bpf_backend, perf_backend, taskstats_backend, ptrace_backend,
	proc_backend;

/* What has come from outside since the watch began. */
struct outside {
	int   stop;                          /* a signal asked us to end */
	pid_t command;                       /* our child; 0: none */
	int   command_ended, command_status; /* reaped, by outside_check or by the backend */
	int backend_reaps; /* set by one that reaps our children itself: outside_check then reports
	                      that one changed */
	int signal_file;   /* readable when a signal of ours has come: give it to outside_check */
	int control_file;  /* readable when WOKEN_BY_CONTROL is due; -1: none */
};
extern struct outside outside;
/* Takes the signals that have come, and reaps our child if it has ended; does not wait. Returns
 * whether anything has changed. */
int outside_check(void);
/* As many descriptors as there may be, for a backend that keeps some for each process. */
void allow_many_files(void);
/* The waiting of a backend that has nothing to do until then. `file` (or -1) readable ends it like
 * time. */
enum woken wait_quietly(uint64_t until_ns, int file);

uint64_t boottime_ns(void); /* of the kernel's CLOCK_BOOTTIME: see kernel/clocks.h */
/* Ends the monitor with a sentence: where there is no memory for what must not be lost. What it
 * watches goes on. */
_Noreturn void no_memory(void);
/* The list, made larger if it has no room for one more. Never NULL. */
void *list_grow(void *list, size_t count, size_t *room, size_t size);

/* The list "missing" of what was found to be missing while watching, a sentence each. */
void write_losses(void);

/* Records, a JSON object a line, as docs/explanation/monitor.md has them. */
void write_process(const struct process *process);
/* The same of one that goes on, with what has changed since `before` alone; nothing if nothing
 * has. */
void write_reading(uint64_t at_ns, const struct process *process, const struct process *before);
/* A window in which calls were counted, or with --prove were not: what the watched processes did in
 * it. */
void write_window(uint64_t at_ns, uint64_t length_ns, int hooked, uint64_t ran_ns, uint64_t work);

/* The name of a system call, or NULL. */
const char *call_name(enum abi abi, uint32_t number);

#endif
