/* clock_read -- read the monotonic clock as a program does.
 *
 * Measures     clock_gettime(CLOCK_MONOTONIC) of the C library. Where the kernel provides code for
 *              it (the vDSO of Linux), this reads the processor's counter, does some arithmetic and
 *              does not enter the kernel. Where there is no such code, or the counter is not
 *              trusted, it is a system call. Which of the two happens is what the workload shows.
 *              Under Wine, QueryPerformanceCounter, converted to ns as the harness does.
 * Leaves out   a call that always enters the kernel (clock_call).
 * Beware       a hypervisor may emulate the counter; then reading one register costs as much as
 *              many system calls. No reading may be earlier than the one before; this check takes a
 *              few instructions. The C library is part of what is measured; clock_call avoids it.
 * After        no other suite; the clock stressor of stress-ng (King) makes this call among others.
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
	.name = "clock_read",
	.group = "syscall",
	.summary = "the monotonic clock, read as a program reads it",
	.operation = "reading",
	.run = run,
	.instructions = INSTRUCTIONS_LEAST,
};
