/* signal_catch -- send a signal to oneself and handle it.
 *
 * Measures     kill to the own process, the frame that the kernel builds on the stack, the
 *              handler's one addition, and the return from it (a system call of its own).
 * Leaves out   installing the handler (signal_install) and waking another process.
 * Beware       a signal that is already waiting is not sent twice. So every one must have been
 *              handled when kill returns, which POSIX demands of a process with one thread; the
 *              handler counts, and the count is checked after every batch. What libc has registered
 *              with the kernel belongs to the figure: glibc (from 2.35 on) an area for restartable
 *              sequences, which the kernel looks at with each signal; giving it back took 4 % off.
 * After        lat_sig catch of lmbench (McVoy and Staelin, 1996).
 */
#include <signal.h>
#include <unistd.h>

#include "../api/kernel_call.h"
#include "../api/workload.h"

static volatile uint64_t caught;
static pid_t             self;

static void handle(int number)
{
	(void)number;
	caught++;
}

static int setup(void)
{
	struct sigaction action = { .sa_handler = handle };

	self = getpid();
	if (sigemptyset(&action.sa_mask) || sigaction(SIGUSR1, &action, NULL))
		return fail("sigaction");
	return 0;
}

static int run(uint64_t operations)
{
	uint64_t due = caught + operations;

	REPEAT(operations, {
		if (kernel_kill(self, SIGUSR1))
			return fail("kill");
	});
	if (caught != due)
		return fail_check("of %llu signals %lld too few were handled",
		                  (unsigned long long)operations, (long long)(due - caught));
	return 0;
}

static const struct call calls[] = { { "kill", 1 }, { "rt_sigreturn", 1 }, { 0 } };

const struct workload workload_signal_catch = {
	.name      = "signal_catch",
	.group     = "syscall",
	.summary   = "a signal sent to oneself and handled",
	.operation = "signal",
	.setup     = setup,
	.run       = run,
	.calls     = calls,
};
