/* batch_test.c -- the product's batch.c on a scripted clock: known times in, known sizes out.
 *
 * An operation costs so many ns, a batch so many besides; nothing sleeps. Prints the first thing that is
 * not as it should be and ends with 1, or ends with 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"

static struct {
	uint64_t now, operation_ns, batch_ns, operations, batches, fails_at;
} script;

uint64_t clock_ns(void)
{
	return script.now;
}

static int run(uint64_t operations)
{
	script.now += operations * script.operation_ns + script.batch_ns;
	script.operations += operations;
	script.batches++;
	return script.fails_at && script.batches >= script.fails_at ? -1 : 0;
}

#define CHECK(claim)                                                            \
	do {                                                                    \
		if (!(claim)) {                                                 \
			printf("%s:%d: not so: %s\n", __func__, __LINE__, #claim); \
			exit(1);                                                \
		}                                                               \
	} while (0)

static struct batch_plan size(struct batch_aim aim, uint64_t operation_ns, uint64_t batch_ns)
{
	struct batch_plan plan = { 0 };

	script.now = 1000000;
	script.operation_ns = operation_ns;
	script.batch_ns = batch_ns;
	script.operations = script.batches = 0;
	CHECK(batch_size(&aim, run, &plan) == 0);
	CHECK(plan.spent == script.operations);
	return plan;
}

static void batches_last_ten_milliseconds(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20, .warmup_ns = 100000000 };
	struct batch_plan plan = size(aim, 100, 0);

	CHECK(plan.operations * 100 >= 7000000 && plan.operations * 100 <= 12000000);
	CHECK(plan.batches == 20);
	CHECK(plan.spent * 100 >= aim.warmup_ns);
}

static void a_coarse_clock_makes_longer_batches(void)
{
	struct batch_aim aim = { .clock = { 1000000, 50 }, .batches = 20 };

	CHECK(size(aim, 100, 0).operations * 100 >= 700000000);
	aim.clock = (struct clock_facts){ 20, 500000 };
	CHECK(size(aim, 100, 0).operations * 100 >= 70000000);
}

static void operations_longer_than_a_batch_are_batches_of_one(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20, .warmup_ns = 1 };
	struct batch_plan plan = size(aim, 300000000, 0);

	CHECK(plan.operations == 1);
	CHECK(plan.batches == 3);
	CHECK(plan.spent == 2);
}

static void a_fixed_cost_of_each_batch_makes_batches_longer(void)
{
	struct batch_aim aim = { .clock = { 20, 22 }, .batches = 20 };

	/* Until what is not proportional, 2 ms a batch, is a tenth at most. */
	CHECK(size(aim, 100, 2000000).operations * 100 >= 9 * 2000000);
}

static void ordered_operations_are_done_exactly(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 7, .operations = 23 };
	struct batch_plan plan = size(aim, 300000000, 0);
	uint64_t          durations[7];

	CHECK(plan.operations == 23 && plan.batches == 7 && plan.spent == 0);
	CHECK(batch_measure(&plan, run, durations) == 0);
	CHECK(script.operations == 7 * 23);
	for (int i = 0; i < 7; i++)
		CHECK(durations[i] == 23 * UINT64_C(300000000));
}

static void the_first_failure_ends_it(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20 };
	struct batch_plan plan = { .operations = 5, .batches = 20 };
	uint64_t          durations[20];

	script.operation_ns = 100;
	script.batches = 0;
	script.fails_at = 3;
	CHECK(batch_size(&aim, run, &plan) == -1);
	CHECK(script.batches == 3);
	script.batches = 0;
	CHECK(batch_measure(&plan, run, durations) == -1);
	CHECK(script.batches == 3);
	script.fails_at = 0;
}

int main(void)
{
	batches_last_ten_milliseconds();
	a_coarse_clock_makes_longer_batches();
	operations_longer_than_a_batch_are_batches_of_one();
	a_fixed_cost_of_each_batch_makes_batches_longer();
	ordered_operations_are_done_exactly();
	the_first_failure_ends_it();
	return 0;
}
