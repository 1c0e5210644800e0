/* null -- do nothing, as often as other workloads do something.
 *
 * Measures     the harness itself: one pair of clock readings per batch, and the loop that every
 *              cheap workload uses (REPEAT), divided by the batch's operations.
 * Leaves out   everything that a workload does.
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
	.name = "null",
	.group = "harness",
	.summary = "nothing: the cost of the harness itself",
	.operation = "nothing",
	.run = run,
};
