/* signal_catch -- send a signal to the own process and handle it.
 *
 * Measures     kill with the own process number, building the signal's frame on the stack, one
 *              addition in the handler, and the return from it (a separate system call).
 * Leaves out   installing the handler (signal_install), and waking another process.
 * Beware       the kernel keeps only one pending signal of a kind, so each signal must be handled
 *              before the next is sent. POSIX guarantees this when kill returns in a process with
 *              one thread. The handler counts, and the count is checked after every batch. What the
 *              C library has registered with the kernel is part of the time: since version 2.35
 *              glibc registers an area for restartable sequences, which the kernel looks at with
 *              each signal; without it the time was 4 % shorter.
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
	.name = "signal_catch",
	.group = "syscall",
	.summary = "a signal sent to the own process and handled",
	.operation = "signal",
	.setup = setup,
	.run = run,
	.calls = calls,
};
