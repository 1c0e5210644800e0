/* yield -- offer the processor to others when nobody wants it.
 *
 * Measures     entry into the kernel, and the scheduler's decision to let the caller go on. On
 *              Windows SwitchToThread.
 * Leaves out   a switch to another process: there is none while no other is ready on that
 *              processor.
 * Beware       whatever else is ready on the same processor is let through, and its time slice is
 *              then measured; so copies beyond the number of processors measure switches between
 *              copies.
 * After        the yield stressor of stress-ng (King), which has many processes call it at once.
 */
#include "../api/workload.h"

#ifdef _WIN32
#include "../api/windows/error.h"

/* Its answer is whether another thread took the processor: no failure. */
static int run(uint64_t operations)
{
	REPEAT(operations, SwitchToThread());
	return 0;
}
#else
#include "../api/kernel_call.h"

static int run(uint64_t operations)
{
	REPEAT(operations, {
		if (kernel_yield())
			return fail("sched_yield");
	});
	return 0;
}
#endif

static const struct call calls[] = { { "sched_yield", 1 }, { 0 } };

const struct workload workload_yield = {
	.name      = "yield",
	.group     = "syscall",
	.summary   = "the processor offered to others (sched_yield, SwitchToThread)",
	.operation = "call",
	.run       = run,
	.calls     = calls,
};
