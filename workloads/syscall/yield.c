/* yield -- offer the processor to others when no other process wants it.
 *
 * Measures     the entry into the kernel, and the scheduler's decision to let the caller continue.
 *              Under Wine, SwitchToThread.
 * Leaves out   a switch to another process: there is none while no other is ready on that
 *              processor.
 * Beware       if anything else is ready on the same processor, it runs first, and its time slice
 *              is measured. So with more copies than processors this measures switches between
 *              copies.
 * After        the yield stressor of stress-ng (King), in which many processes make this call at
 *              once.
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
	.name = "yield",
	.group = "syscall",
	.summary = "the processor offered to others (sched_yield, SwitchToThread)",
	.operation = "call",
	.run = run,
	.calls = calls,
};
