/* clock_facts.c -- see clock_facts.h. */
#include "clock_facts.h"

#include "../base/clock.h"

enum {
	READINGS = 2000,
	READINGS_LEAST = 50,
	LONG_NS = 2000000, /* for all of them */
};

/* What readings one after another show. */
struct readings {
	uint64_t count, lasted_ns;
	uint64_t step_ns;       /* the smallest that is not 0; or UINT64_MAX */
	uint64_t difference_ns; /* of neighbouring steps, the same */
	int      stood;         /* two were the same */
};

static void lessen(uint64_t *least, uint64_t value)
{
	if (value && value < *least)
		*least = value;
}

static struct readings read_clock(void)
{
	struct readings all = { .step_ns = UINT64_MAX, .difference_ns = UINT64_MAX };
	uint64_t        first = clock_ns(), last = first, before = 0;

	while (all.count < READINGS && (all.count < READINGS_LEAST || last - first < LONG_NS)) {
		uint64_t now = clock_ns(), step = now - last;

		lessen(&all.step_ns, step);
		if (all.count++)
			lessen(&all.difference_ns, step > before ? step - before : before - step);
		all.stood |= !step;
		before = step;
		last = now;
	}
	all.lasted_ns = last - first;
	return all;
}

/* Waits for the next tick of a clock that none of the readings saw tick. */
static uint64_t next_tick(void)
{
	uint64_t first = clock_ns(), now;

	while ((now = clock_ns()) == first)
		;
	return now - first;
}

static uint64_t resolution(const struct readings *all)
{
	if (all->step_ns == UINT64_MAX)
		return next_tick();
	if (all->stood || all->difference_ns > all->step_ns)
		return all->step_ns;
	return all->difference_ns;
}

/* As many readings again, of which nothing is kept: the better of both is less likely to have been
 * interrupted. */
static uint64_t cost(const struct readings *all)
{
	uint64_t first = clock_ns(), last = first;

	for (uint64_t i = 0; i < all->count; i++)
		last = clock_ns();
	last -= first;
	return (last < all->lasted_ns ? last : all->lasted_ns) / all->count;
}

struct clock_facts clock_measure(void)
{
	struct readings    all = read_clock();
	struct clock_facts facts = { .resolution_ns = resolution(&all), .cost_ns = cost(&all) };

	return facts;
}
