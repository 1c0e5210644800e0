/* protection_fault -- write to a page that is read-only, and handle the signal.
 *
 * Measures     the processor's fault, the kernel's finding that the write is forbidden, the
 *              signal's frame built on the stack, the handler's one addition, and the return from
 *              it (a system call), after which the same instruction is tried again and is the next
 *              operation.
 * Leaves out   any change of the page: the handler returns without one, so the write faults until
 *              the batch's last fault, where the handler makes the page writable and the write
 *              succeeds. That, and making it read-only again, are two calls a batch.
 * Beware       nothing leaves the handler by a jump, so no signal mask has to be restored by a
 *              system call. Every fault must be at the page's address, else the process ends by
 *              it; the handler is entered exactly once an operation, and the write must have
 *              happened after a batch. What libc has registered with the kernel belongs to the figure,
 *              as in signal_catch.
 * After        lat_sig prot of lmbench (McVoy and Staelin, 1996).
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../api/workload.h"

static unsigned char    *page = MAP_FAILED;
static size_t            page_bytes;
static volatile uint64_t left; /* faults until the page is opened */

void protection_fault_caught(int number, siginfo_t *info, void *context);
void protection_fault_caught(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_addr != page || left == 0) {
		signal(number, SIG_DFL);
		return;
	}
	if (--left == 0 && mprotect(page, page_bytes, PROT_READ | PROT_WRITE))
		_exit(1); /* the write would fault for ever */
}

static int setup(void)
{
	struct sigaction action = { .sa_sigaction = protection_fault_caught,
		                    .sa_flags = SA_SIGINFO };

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return fail("mmap");
	/* Present and its own: otherwise the last write would be a first touch as well. */
	memset(page, 0, page_bytes);
	/* Some systems say SIGBUS of a forbidden write. */
	if (sigemptyset(&action.sa_mask) || sigaction(SIGSEGV, &action, NULL) ||
	    sigaction(SIGBUS, &action, NULL))
		return fail("sigaction");
	return 0;
}

static int run(uint64_t operations)
{
	static unsigned char    number;
	volatile unsigned char *there = page;

	if (!operations)
		return 0;
	if (mprotect(page, page_bytes, PROT_READ))
		return fail("mprotect");
	left = operations;
	*there = ++number;
	if (left != 0)
		return fail_check("%llu faults too few: the page was writable",
		                  (unsigned long long)left);
	if (*there != number)
		return fail_check("the byte read back is %d, not %d", *there, number);
	return 0;
}

static void teardown(void)
{
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	if (page != MAP_FAILED)
		munmap(page, page_bytes);
}

static const struct call calls[] = { { "rt_sigreturn", 1 }, { 0 } };

const struct workload workload_protection_fault = {
	.name      = "protection_fault",
	.group     = "syscall",
	.summary   = "a forbidden write, and the signal for it handled",
	.operation = "fault",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
	.counted   = (void (*)(void))protection_fault_caught,
};
