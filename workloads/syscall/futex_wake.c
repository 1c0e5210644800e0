/* futex_wake -- wake the threads that sleep on a word of memory, when there are none.
 *
 * Measures     the entry into the kernel and the search for sleepers. A lock pays this at its
 *              release when it must assume that another thread waits.
 * Leaves out   the wake-up itself (futex_pass).
 * Beware       the word is private to the process, like the C library's locks by default; a shared
 *              one costs the look-up of its page as well. Linux keeps the sleepers in a table that
 *              processes share or, in recent versions, in a table per process. The answer must be
 *              0.
 * After        no other suite; Franke, Russell and Kirkwood (2002) described the call.
 */
#include "../api/workload.h"

#ifdef __linux__
#include <errno.h>

#include "../api/kernel_call.h"

#if defined(SYS_futex)
#define NUMBER_OF_CALL SYS_futex
#define NAME_OF_CALL   "futex"
#else
#define NUMBER_OF_CALL SYS_futex_time64
#define NAME_OF_CALL   "futex_time64"
#endif

/* The kernel's number; its header is not among every compiler's. */
enum { WAKE_PRIVATE = 1 | 128 };

static uint32_t word;

static long wake(void)
{
	return kernel_call(NUMBER_OF_CALL, &word, (long)WAKE_PRIVATE, 1L, NULL, NULL, 0L);
}

static int setup(void)
{
	if (wake() < 0)
		return errno == ENOSYS ? unsupported("there is no futex") : fail("futex");
	return 0;
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(long woken)
{
	return woken < 0 ? fail("futex") : fail_check("%ld were woken, but none sleeps", woken);
}

static int run(uint64_t operations)
{
	REPEAT(operations, {
		long woken = wake();

		if (woken != 0)
			return wrong(woken);
	});
	return 0;
}

static const struct call calls[] = { { NAME_OF_CALL, 1 }, { 0 } };
#else
static int setup(void)
{
	return unsupported("futexes are Linux's");
}

static int run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

static const struct call calls[] = { { 0 } };
#endif

const struct workload workload_futex_wake = {
	.name = "futex_wake",
	.group = "syscall",
	.summary = "a futex wake without a waiter",
	.operation = "call",
	.setup = setup,
	.run = run,
	.calls = calls,
};
