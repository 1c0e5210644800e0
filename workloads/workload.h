/* workload.h -- what a workload file sees: its descriptor, and the few words it may say.
 *
 * A workload is one file of this folder and one line of list.def. Each trial is a fresh process,
 * so its state is file-scope and no hook takes a context. The hooks are called in this order:
 *
 *	setup()            once; may fail() or say unsupported(); not timed
 *	run(operations)    many times; one batch each; the harness reads the clock before and after
 *	teardown()         once, also after half a setup(); not timed
 */
#ifndef STEELYARD_WORKLOAD_H
#define STEELYARD_WORKLOAD_H

#include <stdint.h>
#include <sys/types.h>

/* What a hook returns: 0, or what one of the three below returned. */
enum { OUTCOME_OK = 0, OUTCOME_FAILED = -1, OUTCOME_UNSUPPORTED = -2 };

/* Ends the trial as failed: `call` is the system call that failed, errno says why. */
int fail(const char *call);

/* Ends the trial as failed: a computed answer is not the known one. `format` is printf's. */
__attribute__((format(printf, 1, 2))) int fail_check(const char *format, ...);

/* Ends the trial as unsupported on this system: `reason` is a sentence fragment for people. */
__attribute__((format(printf, 1, 2))) int unsupported(const char *format, ...);

/* The directory in which this trial, and no other, may make files. */
const char *trial_directory(void);

/* Keeps a computed value: the compiler must believe that somebody reads it. */
#define keep(value) __asm__ volatile("" : : "r,m"(value) : "memory")

/* The next number of Marsaglia's 32-bit xorshift: the same sequence from the same state everywhere. */
static inline uint32_t next_number(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Does `statement` as often as `operations` says. Sixty-four stand in a row before the counter is
 * looked at, so that the loop's own control is one sixty-fourth of an iteration per operation: what
 * `null` measures. A plain loop would cost a quarter of the cheapest workload's operation. */
#define REPEAT_8(statement) \
	statement; statement; statement; statement; statement; statement; statement; statement
#define REPEAT(operations, statement)                                  \
	do {                                                           \
		uint64_t repeat_left_ = (operations);                  \
		for (; repeat_left_ >= 64; repeat_left_ -= 64) {       \
			REPEAT_8(REPEAT_8(statement));                 \
			__asm__ volatile("" : "+r"(repeat_left_));     \
		}                                                      \
		for (; repeat_left_; repeat_left_--) {                 \
			statement;                                     \
			__asm__ volatile("" : "+r"(repeat_left_));     \
		}                                                      \
	} while (0)

/* One number that a request may set: `name=value`, refused outside least..most. */
struct parameter {
	const char *name;
	const char *summary;
	uint64_t   *value;   /* holds the initial value until a request sets it */
	uint64_t    least, most;
};

/* One timed activity. A workload has one called "time", or up to PHASES_MOST named ones that are
 * run one after another, all batches of the first before the second begins. */
struct phase {
	const char *metric;
	int (*run)(uint64_t operations);
};

/* The claim that a test checks from outside: an operation makes exactly this many such calls,
 * by all processes of the trial together. */
struct call {
	const char *name;
	unsigned    per_operation;
};

enum { PHASES_MOST = 4 };

struct workload {
	const char *name;       /* also the file's, and the descriptor's after "workload_" */
	const char *group;      /* cpu, syscall, process, ipc, memory, file, network, harness */
	const char *summary;
	const char *operation;  /* what one operation is, a singular noun */
	int (*setup)(void);
	int (*run)(uint64_t operations);
	void (*teardown)(void);
	const struct phase     *phases;     /* instead of run; ends with a NULL metric */
	const struct parameter *parameters; /* ends with a NULL name; or NULL */
	const struct call      *calls;      /* ends with a NULL name; or NULL */
	void (*counted)(void);              /* a function entered once an operation; or NULL */
};

#endif
