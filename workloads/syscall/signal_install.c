/* signal_install -- say which function shall handle a signal.
 *
 * Measures     entry into the kernel, the new action copied in and put in the place of the old
 *              one.
 * Leaves out   any signal: that is signal_catch.
 * Beware       two handlers are installed in turn, so that each call changes something; which of
 *              them stands is asked once a batch. Libc wraps the call: it adds a trampoline for
 *              the way back and, in some libraries, a record of the handler.
 * After        lat_sig install of lmbench (McVoy and Staelin, 1996).
 */
#include <signal.h>

#include "../workload.h"

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

static struct sigaction actions[2];

static int setup(void)
{
	actions[0].sa_handler = one;
	actions[1].sa_handler = other;
	for (int i = 0; i < 2; i++)
		if (sigemptyset(&actions[i].sa_mask) || sigaction(SIGUSR1, &actions[i], NULL))
			return fail("sigaction");
	return 0;
}

static int run(uint64_t operations)
{
	static unsigned  turn;
	struct sigaction stands;

	REPEAT(operations, {
		turn ^= 1;
		if (sigaction(SIGUSR1, &actions[turn], NULL))
			return fail("sigaction");
	});
	if (sigaction(SIGUSR1, NULL, &stands))
		return fail("sigaction");
	if (stands.sa_handler != actions[turn].sa_handler)
		return fail_check("the handler that was installed last does not stand");
	return 0;
}

static const struct call calls[] = { { "rt_sigaction", 1 }, { 0 } };

const struct workload workload_signal_install = {
	.name      = "signal_install",
	.group     = "syscall",
	.summary   = "a signal handler installed",
	.operation = "call",
	.setup     = setup,
	.run       = run,
	.calls     = calls,
};
