/* workload.h -- what every workload needs: its descriptor, and the functions that it may call.
 *
 * The other headers of api/ are for workloads that need more. Together with those of base/ and
 * loadgen/ they are all that a workload may know of the program around it.
 *
 * A workload is one file in its group's folder and one line of list.def. Each trial is a fresh
 * process, so the state is at file scope and no hook takes a context. The hooks are called in this
 * order:
 *
 *	setup()            once; may fail() or say unsupported(); not timed
 *	before(operations) before each run; not timed, and not in the trial's usage
 *	run(operations)    many times; one batch each; the harness reads the clock before and after
 *	teardown()         once, also after half a setup(); not timed
 */
#ifndef STEELYARD_WORKLOAD_H
#define STEELYARD_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../base/compiler.h"
#include "../../base/files.h"
#include "../../base/parameters.h"
#include "../../base/random.h"

/* What a hook returns: 0, or what one of the next three functions returned. */
enum { OUTCOME_OK = 0, OUTCOME_FAILED = -1, OUTCOME_UNSUPPORTED = -2 };

/* Ends the trial as failed: `call` is the system call that failed, errno says why. */
int fail(const char *call);

/* Ends the trial as failed: a computed answer is not the known one. `format` is printf's. */
FORMAT_OF(1, 2) int fail_check(const char *format, ...);

/* Ends the trial as unsupported on this system: `reason` is a sentence fragment for people. */
FORMAT_OF(1, 2) int unsupported(const char *format, ...);

/* The message of the last of these three calls; empty if there was none. */
const char *outcome_why(void);

/* A directory for this trial alone, in which it may make files. */
const char *trial_directory(void);
/* The files that the laboratory has sent along are in the agent's directory, two above that one, in
 * one of this name. */
#define CARRIED "carried"

/* When all copies began to measure; 0: they have not. Batches before that only find a size. */
uint64_t trial_start_ns(void);

/* For what is random in a trial: the same on every system of a block, another in each block. */
uint64_t trial_seed(void);

/* Executes `statement` `operations` times. The loop is unrolled 64 times, so that its own cost is
 * one sixty-fourth of an iteration per operation, which `null` measures. In a plain loop this would
 * be a quarter of the cheapest workload's operation. */
/* clang-format off */
#define REPEAT_8(statement) \
	statement; statement; statement; statement; statement; statement; statement; statement
/* clang-format on */
#define REPEAT(operations, statement)                              \
	do {                                                       \
		uint64_t repeat_left_ = (operations);              \
		for (; repeat_left_ >= 64; repeat_left_ -= 64) {   \
			REPEAT_8(REPEAT_8(statement));             \
			__asm__ volatile("" : "+r"(repeat_left_)); \
		}                                                  \
		for (; repeat_left_; repeat_left_--) {             \
			statement;                                 \
			__asm__ volatile("" : "+r"(repeat_left_)); \
		}                                                  \
	} while (0)

/* Starts a process that works with this one: it calls serve() and ends. It also ends when this
 * process ends, for whatever reason. If the trial's `place` is 2, it runs on the second processor.
 * Returns its number, or -1 with errno. partner_end waits for its end, and kills it if that takes
 * too long; a partner ends by itself when it reads the end of a pipe or socket that this process
 * has closed. partner_stop kills it at once. Both are safe on -1.
 *
 * On POSIX the partner is a fork, and has everything that this process has. On Windows it is this
 * program started again. It has the parameters of the request and `state`, an object at file scope
 * without pointers, in which descriptors and inheritable handles keep their values; nothing else. A
 * workload whose partner needs more passes NULL, and is not for Windows. */
pid_t partner_start(void (*serve)(void), void *state, size_t bytes);
void partner_end(pid_t *partner);
void partner_stop(pid_t *partner);

/* Moves the calling thread, which works with the first one, to the second processor if the trial's
 * `place` is 2. Returns 0, or -1 with errno. */
int partner_place(void);

/* Keeps the calling thread on the first thread's processor: some systems start threads elsewhere.
 * Returns the same. */
int home_place(void);

/* Machine code, the same bytes on every system; see build-code. */
struct machine_code {
	const unsigned char *bytes;
	size_t               count;
	size_t               stack;   /* bytes that a call of it takes */
	const char          *machine; /* the processor architecture it is for */
	const char          *sha256;  /* of the bytes, as hexadecimal digits */
};

/* Puts the code into pages of its own that are first written and then made executable, never both
 * at once. Returns 0 and its address in *callable, or what unsupported() returned.
 * machine_code_unmap forgets it. */
int machine_code_map(const struct machine_code *code, void **callable);
void machine_code_unmap(const struct machine_code *code, void **callable);

/* Checks that the first thread has that many bytes of stack left, and touches them page by page,
 * before anything is timed. Returns 0, or what unsupported() returned. stack_touch only touches
 * them: for a thread whose stack is known to be large enough. */
int stack_take(size_t bytes);
void stack_touch(size_t bytes);

/* The largest area in bytes that a workload may take: a quarter of this system's memory, or nine
 * tenths of memory and swap in a guest that was started in order to page (measurement.md). */
uint64_t memory_allowed(void);

/* Lets this process have that many open files beside the usual ones. Returns 0, or what
 * unsupported() returned. POSIX only. */
int files_allow(uint64_t count);

/* One timed activity. A workload has one, whose metric is "time" or "bandwidth", or up to
 * PHASES_MOST with names. They run one after another: all batches of the first, then all of the
 * second. */
struct phase {
	const char *metric;
	int (*run)(uint64_t operations);
	const char *less; /* the metric of an earlier phase, which the analysis subtracts; or
	                     NULL */
	/* Or NULL. Then this phase runs once, is not timed, and *reported is its result in ns when
	 * it returns: what earlier phases measured by themselves, such as a quantile of latencies.
	 * 0: this system does not say, and the metric is left out. */
	const uint64_t *reported;
	const char     *per; /* what a reported time is for, such as "KB"; NULL: an operation */
	/* Or NULL: ns. Of a reported figure that is no time, such as "bytes per operation". It
	 * describes, and nothing is judged by it; it may be 0, and UINT64_MAX is what is not
	 * known. */
	const char *unit;
};

/* For a workload whose trial is a curve: it is measured at sizes from..to, `steps` in each
 * doubling, in random order, in one process. It gets the parameters "from", "to" and "steps". For
 * each size the harness sets `value` and calls `arrange` (or NULL), which prepares for it, untimed;
 * setup comes before all. */
struct sweep {
	const char *name; /* what varies, such as "size" */
	const char *unit; /* its unit, such as "bytes" */
	uint64_t   *value;
	uint64_t    from, to, steps; /* until a request sets them; to = 0: what memory allows */
	uint64_t    grain;           /* every size is a multiple of this */
	uint64_t    areas;           /* how many areas of that size exist at once */
	int (*arrange)(void);
};

/* A claim that a test checks from outside: in one operation, all processes of the trial together
 * make exactly this many such calls. */
struct call {
	const char *name;
	unsigned    per_operation;
};

enum { PHASES_MOST = 20 };

struct workload {
	const char *name;  /* also of the file; and of the descriptor, after "workload_" */
	const char *group; /* the folder: cpu, syscall, process, ... */
	const char *summary;
	const char *operation; /* what one operation is, a singular noun */
	int (*setup)(void);
	int (*before)(uint64_t operations); /* prepares what a batch uses up, if one phase is timed;
	                                       or NULL */
	int (*run)(uint64_t operations);
	void (*teardown)(void);
	/* Called last, whatever happened since all copies began to measure: writes records
	 * (record.h) to `file`; or NULL. */
	void (*tell)(uint64_t copy, int file);
	const char *tells;            /* the kind of these records; only with tell */
	int         tells_of_failure; /* whether it is called after an earlier failure, too */
	/* Called in a process that the workload has started by "member NAME ARGUMENT ...": does the
	 * work of that process, and returns its exit status. Or NULL. */
	int (*member)(int argc, char *argv[]);
	const struct phase     *phases;     /* instead of run; ends with a NULL metric */
	const struct parameter *parameters; /* ends with a NULL name; or NULL */
	struct sweep           *sweep;      /* or NULL */
	const uint64_t         *count;      /* the metric, if it is a number and no time; or NULL */
	const char             *counts;     /* what it counts, a plural noun; only with count */
	int                     fewer;      /* fewer of them are better; only with count */
	int                     is_absent;  /* this system cannot have it: accepts any parameter */
	const uint64_t         *bytes;      /* that an operation moves: makes bandwidths; or NULL */
	uint64_t                performances; /* batches, each of one long operation that is not
	                                         repeated to find a size; 0: as usual */
	const uint64_t *pass; /* or NULL: such a batch is that many operations, unless the request
	                         says how many; known after setup */
	uint64_t long_ns;     /* not 0: an operation may take seconds, and one that takes so long is
	                         done once in a trial, unless the request has a number of batches */
	uint64_t regains_ns;  /* in which it regains what another process's work between its batches
	                         has taken: caches, what the processor has learnt of branches */
	const uint64_t *at_once; /* or NULL: that many operations run at once, and a batch that the
	                            system sizes has several for each */
	const uint64_t *cycle;   /* or NULL: one operation in that many is a longer one, and a batch
	                            that the system sizes is whole cycles; known after setup */
	const struct machine_code *code; /* which it executes; or NULL */
	/* What tests count from outside: at least one of the three, except in `null`. */
	const struct call *calls; /* ends with a NULL name; or NULL */
	void (*counted)(void);    /* a function that each operation enters once; or NULL */
	uint64_t instructions;    /* at least that many in an operation of this process, at
	                             sizes of 4096; or 0 */
};

#endif
