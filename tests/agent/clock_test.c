/* clock_test.c -- the product's clock_facts.c on scripted clocks: what it says of each, and how
 * long it takes.
 *
 * Prints the first thing that is not as it should be and ends with 1, or ends with 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/clock_facts.h"
#include "base/clock.h"

static struct {
	uint64_t real_ns, cost_ns, tick_ns, readings, hiccup_at;
} script;

/* Each third reading takes a little longer, as real ones do. */
uint64_t clock_ns(void)
{
	script.real_ns += script.cost_ns;
	if (++script.readings % 3 == 0)
		script.real_ns += script.cost_ns / 50;
	if (script.readings == script.hiccup_at)
		script.real_ns += 10000000;
	return script.real_ns / script.tick_ns * script.tick_ns;
}

#define CHECK(claim)                                                               \
	do {                                                                       \
		if (!(claim)) {                                                    \
			printf("%s:%d: not so: %s\n", __func__, __LINE__, #claim); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static struct clock_facts measured(uint64_t cost_ns, uint64_t tick_ns)
{
	script.real_ns = 1000000000;
	script.readings = 0;
	script.cost_ns = cost_ns;
	script.tick_ns = tick_ns;
	return clock_measure();
}

static void a_clock_that_is_read_fast_is_read_often(void)
{
	struct clock_facts facts = measured(100, 1);

	CHECK(facts.cost_ns == 100);
	CHECK(facts.resolution_ns == 2);
	CHECK(script.readings > 4000);
}

static void a_clock_that_is_read_slowly_takes_no_longer_than_needed(void)
{
	struct clock_facts facts = measured(50000, 1);

	CHECK(facts.cost_ns >= 50000 && facts.cost_ns < 50500);
	CHECK(facts.resolution_ns == 1000);
	CHECK(script.readings * script.cost_ns < 6000000);
}

static void a_clock_that_stands_between_readings_has_the_resolution_of_its_steps(void)
{
	CHECK(measured(20, 1000).resolution_ns == 1000);
	CHECK(measured(20, 15600000).resolution_ns == 15600000);
}

/* Such as the 100 ns of Windows, which takes longer to be read. */
static void a_step_of_several_ticks_is_no_tick(void)
{
	CHECK(measured(270, 100).resolution_ns == 100);
}

static void one_interruption_makes_no_reading_costly(void)
{
	script.hiccup_at = 20;
	CHECK(measured(50000, 1).cost_ns < 50500);
	script.hiccup_at = 80;
	CHECK(measured(50000, 1).cost_ns < 50500);
	script.hiccup_at = 0;
}

int main(void)
{
	a_clock_that_is_read_fast_is_read_often();
	a_clock_that_is_read_slowly_takes_no_longer_than_needed();
	a_clock_that_stands_between_readings_has_the_resolution_of_its_steps();
	a_step_of_several_ticks_is_no_tick();
	one_interruption_makes_no_reading_costly();
	return 0;
}
