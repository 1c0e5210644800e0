/* null -- nothing at all, as often as any other workload does its something.
 *
 * Measures     the harness itself: one pair of clock reads a batch, and the loop that every
 *              cheap workload stands in (REPEAT), shared among a batch's operations.
 * Leaves out   whatever a workload does.
 * Beware       one "operation" costs a few thousandths of a nanosecond; batches hold thousands of
 *              millions of them.
 * After        the null engine of fio, whose purpose is to test fio.
 */
#include "../api/workload.h"

static int run(uint64_t operations)
{
	REPEAT(operations, __asm__ volatile(""));
	return 0;
}

const struct workload workload_null = {
	.name      = "null",
	.group     = "harness",
	.summary   = "nothing: the cost of the harness itself",
	.operation = "nothing",
	.run       = run,
};
