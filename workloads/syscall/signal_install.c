/* signal_install -- choose the function that handles a signal.
 *
 * Measures     the entry into the kernel, copying the new action in, putting it in the place of the
 *              old one, and copying the old one out.
 * Leaves out   any signal (signal_catch).
 * Beware       two handlers are installed in turn, so that each call changes something. Each call
 *              tells which handler stood before, and that is checked. C libraries add work of their
 *              own (a trampoline for the return, in some a record of the handler), so the call is
 *              made by its number. The ancestor calls the C library's function; written so by hand
 *              it takes 3 % longer [-3, +11] (bench/side_by_side.py, 8 pairs on a busy machine).
 * After        lat_sig install of lmbench (McVoy and Staelin, 1996).
 */
#include <signal.h>

#include "../api/kernel_call.h"
#include "../api/workload.h"

/* What each does must differ, or the compiler may make one of the two. */
static volatile sig_atomic_t caught;

static void one(int number)
{
	caught = number;
}

static void other(int number)
{
	caught = -number;
}

#if KERNEL_CALLS
#define HANDLER handler

/* As the kernel has it. No signal comes, so the handler's way back may be missing. */
struct action {
	void (*HANDLER)(int);
	unsigned long flags;
#if !defined(__riscv)
	void (*restorer)(void);
#endif
	uint64_t mask;
};

static inline int install(const struct action *next, struct action *stands)
{
	return (int)kernel_call(SYS_rt_sigaction, (long)SIGUSR1, next, stands, sizeof(next->mask));
}
#else
#define action  sigaction
#define HANDLER sa_handler

static inline int install(const struct action *next, struct action *stands)
{
	return sigaction(SIGUSR1, next, stands);
}
#endif

static struct action actions[2] = { { .HANDLER = one }, { .HANDLER = other } };

static int setup(void)
{
	return install(&actions[0], NULL) ? fail("sigaction") : 0;
}

static int run(uint64_t operations)
{
	static unsigned turn; /* which of the two stands */
	struct action   stood;

	REPEAT(operations, {
		turn ^= 1;
		if (install(&actions[turn], &stood))
			return fail("sigaction");
		if (stood.HANDLER != actions[turn ^ 1].HANDLER)
			return fail_check("the handler that was installed last did not stand");
	});
	return 0;
}

static const struct call calls[] = { { "rt_sigaction", 1 }, { 0 } };

const struct workload workload_signal_install = {
	.name = "signal_install",
	.group = "syscall",
	.summary = "a signal handler installed",
	.operation = "call",
	.setup = setup,
	.run = run,
	.calls = calls,
};
