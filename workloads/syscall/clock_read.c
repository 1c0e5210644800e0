/* clock_read -- read the monotonic clock as a program does.
 *
 * Measures     clock_gettime(CLOCK_MONOTONIC) by libc. Where the kernel lends programs a piece of
 *              code for it (Linux's vDSO), that is a read of the processor's counter and
 *              arithmetic, and the kernel is not entered; where it does not, or the counter is not
 *              trusted, it is a system call. Which of the two a system offers is the point. On Windows
 *              QueryPerformanceCounter, made into ns as the harness does.
 * Leaves out   the certain system call: that is clock_call.
 * Beware       a processor's counter may be emulated by a virtual machine's monitor, and then the
 *              read of one register costs as much as many system calls. Every reading is checked
 *              not to lie before the last, which takes a few instructions. Libc's own way is part of
 *              what is measured; clock_call goes round it.
 * After        no suite's; the clock stressor of stress-ng (King) makes the call among others.
 */
#include "../api/workload.h"

static uint64_t last_ns;

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(uint64_t now_ns)
{
	return fail_check("the clock went back by %llu ns", (unsigned long long)(last_ns - now_ns));
}

#ifdef _WIN32
#include "../api/system.h"

static int run(uint64_t operations)
{
	REPEAT(operations, {
		uint64_t now_ns = clock_ns();

		if (now_ns < last_ns)
			return wrong(now_ns);
		last_ns = now_ns;
	});
	return 0;
}
#else
#include <time.h>

static int run(uint64_t operations)
{
	REPEAT(operations, {
		struct timespec now;
		uint64_t        now_ns;

		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return fail("clock_gettime");
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (now_ns < last_ns)
			return wrong(now_ns);
		last_ns = now_ns;
	});
	return 0;
}
#endif

/* The way in and out of libc and the check of its answer are more than this, whoever reads the
 * counter: some fifty were counted with the borrowed code. */
enum { INSTRUCTIONS_LEAST = 15 };

const struct workload workload_clock_read = {
	.name         = "clock_read",
	.group        = "syscall",
	.summary      = "the monotonic clock read, by a system call or without",
	.operation    = "reading",
	.run          = run,
	.instructions = INSTRUCTIONS_LEAST,
};
