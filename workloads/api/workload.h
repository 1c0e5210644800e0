/* workload.h -- what every workload file sees: its descriptor, and the few words it may say. What only some
 * need is beside it: the headers of api/ are all that a workload may know of the program around it.
 *
 * A workload is one file in its group's folder and one line of list.def. Each trial is a fresh process,
 * so its state is file-scope and no hook takes a context. The hooks are called in this order:
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

/* What a hook returns: 0, or what one of the three below returned. */
enum { OUTCOME_OK = 0, OUTCOME_FAILED = -1, OUTCOME_UNSUPPORTED = -2 };

/* Ends the trial as failed: `call` is the system call that failed, errno says why. */
int fail(const char *call);

/* printf's formats are the C standard's everywhere; the compiler for Windows would check its own. */
#ifdef __MINGW32__
#define FORMAT_OF(argument, first) __attribute__((format(gnu_printf, argument, first)))
#else
#define FORMAT_OF(argument, first) __attribute__((format(printf, argument, first)))
#endif

/* Ends the trial as failed: a computed answer is not the known one. `format` is printf's. */
FORMAT_OF(1, 2) int fail_check(const char *format, ...);

/* Ends the trial as unsupported on this system: `reason` is a sentence fragment for people. */
FORMAT_OF(1, 2) int unsupported(const char *format, ...);

/* What one of these three said last; empty if none has said anything. */
const char *outcome_why(void);

/* The directory in which this trial, and no other, may make files. */
const char *trial_directory(void);

/* Keeps a computed value: the compiler must believe that somebody reads it. */
#define keep(value) __asm__ volatile("" : : "r,m"(value) : "memory")

/* A function that stays one, as it is written: for what is counted by its entries, or must not be seen
 * through from where it is called. */
#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noipa))
#endif

/* A function that is none, as if it were written wherever it is called: for a part of what is timed. */
#define INLINED static inline __attribute__((always_inline))

/* The next number of Marsaglia's 32-bit xorshift: the same sequence from the same state everywhere. */
static inline uint32_t next_number(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* The numbers below `count` in a random order (Fisher and Yates), the same everywhere. */
static inline void random_order(uint32_t order[], uint32_t count)
{
	uint32_t state = 2463534242u;

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t other = next_number(&state) % (i + 1), held = order[i];

		order[i] = order[other];
		order[other] = held;
	}
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

/* A process that works with this one: does serve() and ends. It ends with this process, however that
 * ends, and runs on the second processor where the trial's `place` asks for two. Returns its number,
 * or -1 with errno. partner_end waits for it, or kills it first if it does not end by itself (which it
 * does when it reads the end of a pipe or socket that its maker has closed). partner_stop is for one
 * that sees no end: it is ended at once. All are safe on -1.
 *
 * POSIX forks: the partner has all that its maker has. Windows starts this program anew: the partner has
 * the workload's parameters as the request set them, `state`, a file-scope object without pointers, in
 * which descriptors and inheritable handles keep their values, and nothing else. So a workload whose
 * partner needs more, and says so by NULL, is not for Windows. */
pid_t partner_start(void (*serve)(void), void *state, size_t bytes);
void partner_end(pid_t *partner);
void partner_stop(pid_t *partner);

/* For a thread that works with the first: moves it to the second processor where two are asked for.
 * Returns 0, or -1 with errno. */
int partner_place(void);

/* For a thread that stays with the first: some systems start each where they like. Returns likewise. */
int home_place(void);

/* Machine code that is the same bytes on every system; see build-code. */
struct machine_code {
	const unsigned char *bytes;
	size_t               count;
	size_t               stack;   /* bytes that a call of it takes */
	const char          *machine; /* the processor architecture it is for */
	const char          *sha256;  /* of the bytes, as hexadecimal digits */
};

/* Puts the code into pages of its own that are first written and then made executable, never both at
 * once. Returns 0 and its address in *callable, or what unsupported() returned. machine_code_unmap forgets it. */
int machine_code_map(const struct machine_code *code, void **callable);
void machine_code_unmap(const struct machine_code *code, void **callable);

/* Whether the first thread has so many bytes of stack left; brings them in, a page after the other, before
 * anything is timed. Returns 0, or what unsupported() returned. stack_touch brings them in unasked: for a
 * thread whose stack was made large enough. */
int stack_take(size_t bytes);
void stack_touch(size_t bytes);

/* Reads or writes all of it, through interruptions and short counts. Return 0, or -1 with errno (0 at
 * the end of the stream). */
int read_whole(int file, void *into, size_t bytes);
int write_whole(int file, const void *from, size_t bytes);

/* The bytes of this system's memory, and the largest area that a workload may take: a quarter of it,
 * or nine tenths of memory and swap in a guest that was started to page (see docs/measurement.md). */
uint64_t memory_bytes(void);
uint64_t memory_allowed(void);

/* Reads a whole decimal number. strtoull alone accepts "-1", " 1", "12abc" and "". Returns 0, or -1
 * if `text` is anything but digits or does not fit. */
int parse_number(const char *text, uint64_t *value);

/* What a request may set by `name=value`: a number, refused outside least..most, or a text. */
struct parameter {
	const char *name;
	const char *summary;
	uint64_t   *value;   /* holds the initial value until a request sets it */
	uint64_t    least, most;
	char       *text;    /* instead of value: room for `most` bytes and a NUL */
};
#define NUMBER(name_, summary_, value_, least_, most_)                                 \
	{ .name = (name_), .summary = (summary_), .value = (value_), .least = (least_), \
	  .most = (most_) }
#define STRING(name_, summary_, text_, most_) \
	{ .name = (name_), .summary = (summary_), .most = (most_), .text = (text_) }

/* One timed activity. A workload has one called "time" or "bandwidth", or up to PHASES_MOST named ones
 * that are run one after another, all batches of the first before the second begins. */
struct phase {
	const char *metric;
	int (*run)(uint64_t operations);
	const char *less;    /* an earlier phase's metric, which the analysis subtracts; or NULL */
};

/* A workload whose trial is a curve: it is measured at sizes from..to, `steps` to a doubling, in random
 * order within one process. The parameters "from", "to" and "steps" come with it. After `value` was
 * set, `arrange` (or NULL) makes ready for it, untimed; setup comes before the first. */
struct sweep {
	const char *name;    /* what is varied, such as "size" */
	const char *unit;    /* of it, such as "bytes" */
	uint64_t   *value;
	uint64_t    from, to, steps; /* until a request sets them; to = 0: as much as memory_allowed */
	uint64_t    grain;   /* every size is a multiple of it */
	uint64_t    areas;   /* how many areas of that size there are at once */
	int (*arrange)(void);
};

/* The claim that a test checks from outside: an operation makes exactly this many such calls,
 * by all processes of the trial together. */
struct call {
	const char *name;
	unsigned    per_operation;
};

enum { PHASES_MOST = 20 };

struct workload {
	const char *name;       /* also the file's, and the descriptor's after "workload_" */
	const char *group;      /* the folder's: cpu, syscall, process, ipc, memory, file, network, harness */
	const char *summary;
	const char *operation;  /* what one operation is, a singular noun */
	int (*setup)(void);
	int (*before)(uint64_t operations); /* makes ready what the batch uses up; with run only; or NULL */
	int (*run)(uint64_t operations);
	void (*teardown)(void);
	/* After all else, however it went: writes records of its own (record.h) to `file`; or NULL. */
	void (*tell)(uint64_t copy, int file);
	/* In a process that it has started by "member NAME ARGUMENT ...": does that process's work.
	 * Returns its exit status. Or NULL. */
	int (*member)(int argc, char *argv[]);
	const struct phase     *phases;     /* instead of run; ends with a NULL metric */
	const struct parameter *parameters; /* ends with a NULL name; or NULL */
	struct sweep           *sweep;      /* or NULL */
	const uint64_t         *count;      /* what it counts is its result, not its time; or NULL */
	const char             *counts;     /* what it counts, a plural noun; with count only */
	int                     is_absent;  /* here, as setup says: any parameters are taken */
	const uint64_t         *bytes;      /* that an operation moves: makes its metrics bandwidths; or NULL */
	uint64_t                performances; /* batches of one operation each, which is a long performance and
	                                         is not repeated to find its size; 0: batches as usual */
	const struct machine_code *code;    /* that it runs, the same bytes on every system; or NULL */
	/* What tests count from outside; at least one of the three, but for the harness's own. */
	const struct call      *calls;      /* ends with a NULL name; or NULL */
	void (*counted)(void);              /* a function entered once an operation; or NULL */
	uint64_t                instructions; /* machine instructions an operation takes at least, by this
	                                         process, at sizes of 4096; or 0 */
};

#endif
