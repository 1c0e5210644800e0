/* batch.c -- see batch.h; the reasons for the numbers are in docs/explanation/measurement.md. */
#include "batch.h"

#include "../base/clock.h"

enum {
	GOAL_NS = 10000000,
	CLOCK_STEPS = 1000,
	CLOCK_READINGS = 200,
	TRIES = 2, /* at a size: noise is not proportional either */
	DOUBLINGS_MOST = 2,
	BATCHES_LEAST = 3,
	WARM_BATCHES = 2,
	SHORT_NS = 1000,  /* too short to aim from: multiply instead */
	EACH_AT_ONCE = 8, /* operations: when a batch begins and ends, not all go on at once */
};

static uint64_t largest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t larger = a > b ? a : b;

	return larger > c ? larger : c;
}

static uint64_t goal_ns(const struct batch_aim *aim)
{
	return largest(aim->batch_ns ? aim->batch_ns : GOAL_NS,
	               CLOCK_STEPS * aim->clock.resolution_ns, CLOCK_READINGS * aim->clock.cost_ns);
}

/* Makes ready, and only then reads the clock. */
static int timed(const struct batch_hooks *hooks, uint64_t operations, uint64_t *elapsed_ns)
{
	uint64_t start;
	int      outcome = hooks->before ? hooks->before(operations) : 0;

	*elapsed_ns = 0;
	if (outcome)
		return outcome;
	start = clock_ns();
	outcome = hooks->run(operations);
	*elapsed_ns = clock_ns() - start;
	return outcome;
}

/* What the sizing has done so far: the last batch's duration is what the next size is aimed
 * from. */
struct sizing {
	const struct batch_hooks *hooks;
	uint64_t                  operations, elapsed_ns; /* of the last batch */
	uint64_t                  spent, spent_ns;        /* of all */
	uint64_t                  done;                   /* batches */
	int                       is_long; /* the first operation was: it is not repeated */
};

static int try_batch(struct sizing *s, uint64_t operations)
{
	int outcome = timed(s->hooks, operations, &s->elapsed_ns);

	s->operations = operations;
	s->spent += operations;
	s->spent_ns += s->elapsed_ns;
	s->done++;
	return outcome;
}

/* At least that many operations, in whole cycles. */
static uint64_t in_cycles(const struct batch_aim *aim, uint64_t operations)
{
	uint64_t over = aim->cycle ? operations % aim->cycle : 0;

	return over ? operations - over + aim->cycle : operations;
}

static uint64_t operations_least(const struct batch_aim *aim)
{
	return in_cycles(aim, aim->at_once > 1 ? EACH_AT_ONCE * aim->at_once : 1);
}

/* The smallest batch, twice: the first is never warm, and either may have met a hiccup that would
 * pass for long operations. The shorter one tells. What lasts longer than any hiccup is not done
 * twice. */
static int try_least(struct sizing *s, const struct batch_aim *aim, uint64_t least)
{
	uint64_t first_ns;
	int      outcome = try_batch(s, least);

	if (outcome)
		return outcome;
	first_ns = s->elapsed_ns;
	s->is_long = least == 1 && aim->long_ns &&
	             first_ns >= largest(aim->long_ns, goal_ns(aim), 0);
	if (s->is_long)
		return 0;
	outcome = try_batch(s, least);
	if (first_ns < s->elapsed_ns)
		s->elapsed_ns = first_ns;
	return outcome;
}

/* Grows the batch until it lasts 0.7 of the goal: tenfold while too short to aim, then by
 * aiming. */
static int grow(struct sizing *s, const struct batch_aim *aim, uint64_t goal, uint64_t least)
{
	uint64_t operations = s->operations ? s->operations : least;
	int      outcome = s->done ? try_batch(s, operations) : try_least(s, aim, least);

	for (; !outcome && s->elapsed_ns < goal / 10 * 7; outcome = try_batch(s, operations)) {
		double aimed = 1.1 * (double)goal * (double)operations /
		               (double)(s->elapsed_ns + 1);

		if (s->elapsed_ns < SHORT_NS || aimed > 1000.0 * (double)operations)
			operations *= 10;
		else
			operations = in_cycles(aim, (uint64_t)aimed + 1);
	}
	return outcome;
}

/* Whether twice the operations took twice the time, within 5 %. */
static int proportional(uint64_t once_ns, uint64_t twice_ns)
{
	uint64_t expected = 2 * once_ns,
		 apart = twice_ns > expected ? twice_ns - expected : expected - twice_ns;

	return apart * 20 < expected;
}

static int find_operations(const struct batch_aim *aim, struct sizing *s)
{
	uint64_t goal = goal_ns(aim), least = operations_least(aim);
	int      outcome;

	for (int doubled = 0, tries = 1;; tries++) {
		uint64_t operations, elapsed_ns;

		if ((outcome = grow(s, aim, goal, least)))
			return outcome;
		operations = s->operations;
		elapsed_ns = s->elapsed_ns;
		/* The least that fills the goal is a batch; there is nothing to prove. */
		if (operations == least || doubled == DOUBLINGS_MOST)
			return 0;
		if ((outcome = try_batch(s, 2 * operations)))
			return outcome;
		if (proportional(elapsed_ns, s->elapsed_ns)) {
			s->operations = operations;
			s->elapsed_ns = elapsed_ns;
			return 0;
		}
		if (tries % TRIES) {
			s->operations = operations;
			continue;
		}
		goal *= 2;
		doubled++;
	}
}

int batch_size(const struct batch_aim *aim, const struct batch_hooks *hooks,
               struct batch_plan *plan)
{
	struct sizing s = { .hooks = hooks };
	uint64_t      fit, whole_ns = largest(aim->whole_ns, aim->batches * 2 * goal_ns(aim), 0);
	int           outcome = 0;

	if (aim->operations)
		s.operations = aim->operations;
	else if ((outcome = find_operations(aim, &s)))
		return outcome;
	plan->operations = s.operations;
	plan->first_ns = 0;
	if (s.is_long) {
		plan->batches = 1;
		plan->first_ns = aim->keep_first ? s.elapsed_ns : 0;
		plan->spent = aim->keep_first ? 0 : s.spent;
		return 0;
	}
	plan->shortest_ns = s.elapsed_ns;
	while (s.spent_ns < aim->warmup_ns || (aim->warmup_ns && s.done < WARM_BATCHES)) {
		if ((outcome = try_batch(&s, plan->operations)))
			return outcome;
		if (s.elapsed_ns < plan->shortest_ns || !plan->shortest_ns)
			plan->shortest_ns = s.elapsed_ns;
	}

	/* By the shortest: one that met a hiccup is no measure. */
	fit = plan->shortest_ns ? whole_ns / plan->shortest_ns : aim->batches;
	if (fit < BATCHES_LEAST)
		fit = BATCHES_LEAST;
	/* Operations that were asked for are an exact order: so are the batches then. */
	plan->batches = aim->operations || fit > aim->batches ? aim->batches : fit;
	plan->spent = s.spent;
	return 0;
}

int batch_measure(const struct batch_plan *plan, const struct batch_hooks *hooks,
                  uint64_t durations_ns[])
{
	int outcome = 0;

	if (plan->first_ns) {
		durations_ns[0] = plan->first_ns;
		return 0;
	}
	for (uint64_t i = 0; i < plan->batches && !outcome; i++)
		outcome = timed(hooks, plan->operations, &durations_ns[i]);
	return outcome;
}
