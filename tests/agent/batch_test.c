/* batch_test.c -- the product's batch.c on a scripted clock: known times in, known sizes out.
 *
 * An operation costs some ns, a batch some more, and what comes before it some that must not be
 * seen; nothing sleeps. Prints the first thing that is not as it should be and ends with 1, or ends
 * with 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/batch.h"
#include "base/clock.h"

static struct {
	uint64_t now, operation_ns, batch_ns, before_ns, operations, batches, fails_at, hiccup_at;
	uint64_t ready, unready, readied, not_ready_at; /* operations made ready; batches that were
	                                                   not */
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
	if (script.batches == script.hiccup_at)
		script.now += 20000000;
	return script.fails_at && script.batches >= script.fails_at ? -1 : 0;
}

static int before(uint64_t operations)
{
	script.now += operations * script.before_ns;
	script.ready = operations;
	script.readied++;
	return script.not_ready_at && script.readied >= script.not_ready_at ? -2 : 0;
}

static int run_what_is_ready(uint64_t operations)
{
	script.unready += script.ready != operations;
	script.ready = 0;
	return run(operations);
}

static const struct batch_hooks plain = { .run = run };
static const struct batch_hooks with_before = { .before = before, .run = run_what_is_ready };

#define CHECK(claim)                                                               \
	do {                                                                       \
		if (!(claim)) {                                                    \
			printf("%s:%d: not so: %s\n", __func__, __LINE__, #claim); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static struct batch_plan size(struct batch_aim aim, uint64_t operation_ns, uint64_t batch_ns)
{
	struct batch_plan plan = { 0 };

	script.now = 1000000;
	script.operation_ns = operation_ns;
	script.batch_ns = batch_ns;
	script.operations = script.batches = 0;
	CHECK(batch_size(&aim, &plain, &plan) == 0);
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

static void what_lasts_long_is_done_once(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 },
		                  .batches = 20,
		                  .warmup_ns = 100000000,
		                  .long_ns = 1000000000,
		                  .keep_first = 1 };
	struct batch_plan plan = { 0 };
	uint64_t          durations[20] = { 0 };

	script.operation_ns = 3000000000;
	script.batch_ns = script.operations = script.batches = 0;
	CHECK(batch_size(&aim, &plain, &plan) == 0);
	CHECK(plan.operations == 1 && plan.batches == 1 && plan.spent == 0);
	CHECK(batch_measure(&plan, &plain, durations) == 0);
	CHECK(script.operations == 1);
	CHECK(durations[0] == 3000000000);
	/* Copies are measured together, and so once more. */
	aim.keep_first = 0;
	plan = size(aim, 3000000000, 0);
	CHECK(plan.batches == 1 && plan.spent == 1);
	CHECK(batch_measure(&plan, &plain, durations) == 0);
	CHECK(script.operations == 2);
	/* What is shorter, or may have met a hiccup only, is sized as ever. */
	CHECK(size(aim, 900000000, 0).batches == 3);
	aim.long_ns = 0;
	CHECK(size(aim, 3000000000, 0).batches == 3);
}

static void a_hiccup_is_not_taken_for_a_long_operation(void)
{
	struct batch_aim aim = { .clock = { 20, 22 }, .batches = 20 };

	for (script.hiccup_at = 1; script.hiccup_at <= 6; script.hiccup_at++)
		CHECK(size(aim, 10000, 0).operations * 10000 >= 7000000);
	script.hiccup_at = 0;
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
	CHECK(batch_measure(&plan, &plain, durations) == 0);
	CHECK(script.operations == 7 * 23);
	for (int i = 0; i < 7; i++)
		CHECK(durations[i] == 23 * UINT64_C(300000000));
}

static void what_goes_on_at_once_has_several_operations_each(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20, .at_once = 16 };
	struct batch_plan plan = size(aim, 250000000, 0);

	CHECK(plan.operations == 8 * 16);
	CHECK(plan.batches == 3);
	CHECK(script.operations == 2 * 8 * 16);
	CHECK(size(aim, 100, 0).operations > 10 * 8 * 16);
	aim.operations = 5;
	CHECK(size(aim, 250000000, 0).operations == 5);
}

static void a_batch_is_whole_cycles(void)
{
	struct batch_aim aim = { .clock = { 20, 22 }, .batches = 20, .cycle = 256 };

	CHECK(size(aim, 1000, 0).operations % 256 == 0);
	CHECK(size(aim, 1000, 2000000).operations % 256 == 0);
	CHECK(size(aim, 100000000, 0).operations == 256);
	aim.at_once = 100;
	CHECK(size(aim, 100000000, 0).operations == 4 * 256);
	aim.operations = 5;
	CHECK(size(aim, 1000, 0).operations == 5);
}

static void longer_batches_are_fewer(void)
{
	struct batch_aim aim = { .clock = { 20, 22 }, .batches = 64, .batch_ns = 100000 };

	CHECK(size(aim, 1000000, 0).batches == 12);
	aim.whole_ns = 24000000;
	CHECK(size(aim, 1000000, 0).batches == 24);
	CHECK(size(aim, 30000000, 0).batches == 3);
	CHECK(size(aim, 100, 0).batches == 64);
}

static void the_first_failure_ends_it(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20 };
	struct batch_plan plan = { .operations = 5, .batches = 20 };
	uint64_t          durations[20];

	script.operation_ns = 100;
	script.batches = 0;
	script.fails_at = 3;
	CHECK(batch_size(&aim, &plain, &plan) == -1);
	CHECK(script.batches == 3);
	script.batches = 0;
	CHECK(batch_measure(&plan, &plain, durations) == -1);
	CHECK(script.batches == 3);
	script.fails_at = 0;
}

static void what_comes_before_a_batch_is_not_timed(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20, .warmup_ns = 100000000 };
	struct batch_plan plain_plan = size(aim, 100, 0), plan = { 0 };
	uint64_t          durations[20];

	script.before_ns = 70;
	script.operations = script.batches = 0;
	CHECK(batch_size(&aim, &with_before, &plan) == 0);
	CHECK(plan.operations == plain_plan.operations);
	CHECK(plan.batches == plain_plan.batches);
	CHECK(plan.spent == script.operations && plan.spent == plain_plan.spent);
	CHECK(batch_measure(&plan, &with_before, durations) == 0);
	for (int i = 0; i < 20; i++)
		CHECK(durations[i] == plan.operations * 100);
	CHECK(script.readied == script.batches);
	CHECK(script.unready == 0);
}

static void a_batch_that_cannot_be_made_ready_is_not_run(void)
{
	struct batch_aim  aim = { .clock = { 20, 22 }, .batches = 20 };
	struct batch_plan plan = { .operations = 5, .batches = 20 };
	uint64_t          durations[20];

	script.not_ready_at = 3;
	script.readied = script.batches = 0;
	CHECK(batch_size(&aim, &with_before, &plan) == -2);
	CHECK(script.readied == 3 && script.batches == 2);
	script.readied = script.batches = 0;
	CHECK(batch_measure(&plan, &with_before, durations) == -2);
	CHECK(script.readied == 3 && script.batches == 2);
	script.not_ready_at = 0;
}

int main(void)
{
	batches_last_ten_milliseconds();
	a_coarse_clock_makes_longer_batches();
	operations_longer_than_a_batch_are_batches_of_one();
	what_lasts_long_is_done_once();
	a_hiccup_is_not_taken_for_a_long_operation();
	a_fixed_cost_of_each_batch_makes_batches_longer();
	ordered_operations_are_done_exactly();
	what_goes_on_at_once_has_several_operations_each();
	a_batch_is_whole_cycles();
	longer_batches_are_fewer();
	the_first_failure_ends_it();
	what_comes_before_a_batch_is_not_timed();
	a_batch_that_cannot_be_made_ready_is_not_run();
	return 0;
}
