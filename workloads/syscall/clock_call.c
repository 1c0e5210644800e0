/* clock_call -- read the monotonic clock by a system call.
 *
 * Measures     the entry into the kernel, the kernel's reading of its clock, and copying the time
 *              out.
 * Leaves out   the way around the kernel that the C library uses where there is one (clock_read).
 * Beware       the call is made by its number, so that the kernel itself answers. Where both can,
 *              kernel and clock_read use the same counter. No reading may be earlier than the one
 *              before; this is checked each time.
 * After        no other suite; it complements clock_read.
 */
#include "../api/kernel_call.h"
#include "../api/workload.h"

/* The kernel's own layouts: two longs by the old number, two of 64 bits by the new one, which is
 * the only one that some 32-bit systems have. */
#if defined(SYS_clock_gettime)
#define NUMBER_OF_CALL SYS_clock_gettime
#define NAME_OF_CALL   "clock_gettime"
struct reading {
	long seconds, ns;
};
#else
#define NUMBER_OF_CALL SYS_clock_gettime64
#define NAME_OF_CALL   "clock_gettime64"
struct reading {
	int64_t seconds, ns;
};
#endif

static uint64_t last_ns;

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(uint64_t now_ns)
{
	return fail_check("the clock went back by %llu ns", (unsigned long long)(last_ns - now_ns));
}

static int run(uint64_t operations)
{
	REPEAT(operations, {
		struct reading now;
		uint64_t       now_ns;

		if (kernel_call(NUMBER_OF_CALL, (long)CLOCK_MONOTONIC, &now))
			return fail("clock_gettime");
		now_ns = (uint64_t)now.seconds * 1000000000u + (uint64_t)now.ns;
		if (now_ns < last_ns)
			return wrong(now_ns);
		last_ns = now_ns;
	});
	return 0;
}

static const struct call calls[] = { { NAME_OF_CALL, 1 }, { 0 } };

const struct workload workload_clock_call = {
	.name = "clock_call",
	.group = "syscall",
	.summary = "the monotonic clock read by a system call",
	.operation = "call",
	.run = run,
	.calls = calls,
};
