/* protection_fault -- write to a read-only page, and handle the signal.
 *
 * Measures     the page fault, the kernel's finding that the write is forbidden, building the
 *              signal's frame on the stack, one addition in the handler, and the return from it (a
 *              system call). The same instruction then runs again and is the next operation.
 * Leaves out   changing the page. The handler returns without a change, so the write faults again,
 *              until the batch's last fault. There the handler makes the page writable and the
 *              write succeeds. Making it writable and read-only again are two calls per batch.
 * Beware       the handler does not leave by a jump, so no system call must restore a signal mask.
 *              A fault at any other address ends the process. The handler must run exactly once per
 *              operation, and the write must have happened at the end of the batch. What the C
 *              library has registered with the kernel is part of the time, as in signal_catch.
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
	.name = "protection_fault",
	.group = "syscall",
	.summary = "a write to a read-only page, and its signal handled",
	.operation = "fault",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
	.counted = (void (*)(void))protection_fault_caught,
};
