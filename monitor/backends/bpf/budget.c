/* budget.c -- see budget.h.
 *
 * Calls are counted one by one as long as there is credit. It grows with time by the budget's
 * share, up to what CREDIT_NS of time give, and every hit of the hook, by whichever process of the
 * machine, takes the hook's price from it. That is not checked all the time: each processor is
 * allowed some hits, and who has made them wakes us.
 *
 * When the credit is used up, calls are hooked in windows alone. Time is cut into periods, and in
 * each lies one window, at a random place: so that what a process does at regular times is met as
 * often as not. What is counted in windows is set against the time that the process ran in them,
 * and that against all the time that it ran meanwhile, which the kernel knows exactly: on a machine
 * whose processors are all busy, our waking up itself decides who runs next. How long the next
 * period is follows from the window before it: so long that the hooks cost no more than the budget,
 * or half of it as long as credit is to be regained. But the first ones are short, for what soon
 * ends is to be met by some windows too: a part of the credit was left for these. A window's weight
 * is its period's length.
 *
 * When windows show that counting all would be within the budget, all is counted again: from the
 * end of a period on, so that each window stands for a whole one.
 */
#include "budget.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>

#include "gather.h"
#include "hooks.h"

enum {
	WINDOW_NS = 2000000,
	RAMP_NS = 400000, /* hooking in and out, in which the hook is paid for and nothing is
	                     counted */
	PERIOD_LEAST_NS = 250000000, /* the turns themselves cost us some 0.7 ms */
	PERIOD_FIRST_NS = 15000000,  /* the next ones are a third longer each */
	PROOF_WINDOW_NS = 40000000,
	QUIET_WINDOWS = 2, /* one after the other, before all is counted again */
	PRICE_USUAL_NS = 120,
	PRICE_LEAST_NS = 20, /* calibration may have met with a disturbance */
};
#define PERIOD_MOST_NS UINT64_C(8000000000)
#define CREDIT_NS      5e9 /* at half a percent, 25 ms in hooks */

static struct {
	int      is_used, is_proof, is_open, is_hooked, is_second; /* of its pair, with --prove */
	int      counts_all;                                       /* there are no windows */
	int      quiet;   /* windows that were, one after the other */
	int      is_over; /* what is next is the end of the period */
	double   budget, price_ns;
	double   credit_ns;                /* of time in hooks */
	uint64_t charged_ns, charged_hits; /* up to which it is known */
	double   short_ns;                 /* no period is longer than that while there is credit */
	uint64_t period_begin_ns, period_ns;
	uint64_t next_ns, begin_ns, begin_hits;
	uint64_t run_before, work_before;
	uint64_t state; /* of the random numbers */
} s;

/* splitmix64 (Steele, Lea and Flood, 2014): phases must be unrelated to anything, not secret. */
static uint64_t draw(uint64_t below)
{
	uint64_t z = (s.state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % below;
}

static double credit_most(void)
{
	return s.budget * CREDIT_NS;
}

/* Brings the credit up to date. Many processors at once can overdraw it by more than is worth
 * waiting for. */
static void charge(void)
{
	uint64_t now = boottime_ns(), hits = hooks_hits();

	s.credit_ns += s.budget * (double)(now - s.charged_ns) -
	               s.price_ns * (double)(hits - s.charged_hits);
	if (s.credit_ns > credit_most())
		s.credit_ns = credit_most();
	if (s.credit_ns < -credit_most())
		s.credit_ns = -credit_most();
	s.charged_ns = now;
	s.charged_hits = hits;
}

/* -- Windows -- */

static void plan_period(uint64_t begin_ns)
{
	uint64_t room = s.is_proof ? 1 : s.period_ns - WINDOW_NS - RAMP_NS;

	s.period_begin_ns = begin_ns;
	s.next_ns = begin_ns + draw(room);
}

/* Of that much time in hooks for each window. */
static void set_period(double burden_ns)
{
	double share = s.credit_ns < credit_most() ? s.budget / 2 : s.budget;
	double period = burden_ns / share;

	if (period < PERIOD_LEAST_NS)
		period = PERIOD_LEAST_NS;
	if (s.credit_ns > 0 && period > s.short_ns)
		period = s.short_ns;
	s.short_ns *= 4.0 / 3;
	s.period_ns = period > (double)PERIOD_MOST_NS ? PERIOD_MOST_NS : (uint64_t)period;
}

/* On a machine whose processors are all busy, waking up to end a window can take many times its
 * length. For that while we go before others, if we may; a window that is longer all the same is
 * counted as what it was. */
static void go_first(int first)
{
	struct sched_param priority = { .sched_priority = first };

	sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &priority);
}

/* -- From counting all to windows, and back -- */

static void sample(void)
{
	go_first(1);
	gather_pause();
	hooks_calls_off();
	hooks_allow(UNKNOWN);
	go_first(0);
	charge();
	s.counts_all = 0;
	s.quiet = 0;
	s.short_ns = PERIOD_FIRST_NS;
	/* As if a storm of the cheapest calls raged. */
	set_period((WINDOW_NS + RAMP_NS) * 0.4);
	plan_period(boottime_ns());
}

/* A processor's own share is small enough for two to use up theirs at once, and for the rest to be
 * given out then. */
static void count_all(void)
{
	/* Waking us costs some 20 us: not for less than ten times as much. */
	uint64_t least = (uint64_t)(2e5 / s.price_ns);

	s.counts_all = 1;
	s.next_ns = UNKNOWN;
	hooks_allow((uint64_t)((s.credit_ns - credit_most() / 4) / 4 / s.price_ns) + least);
}

static void turn_counting(void)
{
	if (!hooks_are_spent())
		return;
	charge();
	if (s.credit_ns > credit_most() / 4)
		count_all();
	else
		sample();
}

int budget_begin(const struct order *order)
{
	if (order->detail != BUDGET)
		return 0;
	s.is_used = 1;
	s.is_proof = order->prove;
	s.budget = order->budget;
	s.price_ns = hooks.hook_ns == UNKNOWN ? PRICE_USUAL_NS : (double)hooks.hook_ns;
	if (s.price_ns < PRICE_LEAST_NS)
		s.price_ns = PRICE_LEAST_NS;
	if (getrandom(&s.state, sizeof s.state, GRND_NONBLOCK) != (ssize_t)sizeof s.state)
		s.state = boottime_ns();
	s.credit_ns = credit_most();
	s.charged_ns = boottime_ns();
	s.charged_hits = hooks_hits();
	if (s.is_proof) {
		gather_pause();
		s.period_ns = PROOF_WINDOW_NS;
		plan_period(boottime_ns());
		return 0;
	}
	if (hooks_calls_on())
		return -1;
	hooks_count(1);
	count_all();
	return 0;
}

uint64_t budget_next(void)
{
	return s.is_used ? s.next_ns : UNKNOWN;
}

/* What a target does for its own sake: a free-running count of its work. */
static void totals(uint64_t *run, uint64_t *work)
{
	struct process total;

	process_clear(&total);
	gather_total(&total);
	*run = total.figure[run_ns];
	*work = total.figure[reads] + total.figure[writes] + total.figure[switches_voluntary] +
	        total.figure[switches_involuntary] + total.figure[faults_minor];
	process_free_calls(&total);
}

/* Pairs of windows, one hooked and one not, in random order: what drifts then touches both
 * alike. */
static int proof_is_hooked(void)
{
	int hooked = s.is_second ? !s.is_hooked : (int)draw(2);

	s.is_second = !s.is_second;
	return hooked;
}

static void open_window(void)
{
	go_first(1);
	s.is_hooked = s.is_proof ? proof_is_hooked() : 1;
	s.begin_hits = hooks_hits();
	if (s.is_hooked)
		hooks_calls_on();
	if (s.is_proof) {
		gather_refresh();
		totals(&s.run_before, &s.work_before);
	}
	s.begin_ns = hooks_open_window(s.is_hooked);
	s.is_open = 1;
	s.next_ns = s.begin_ns + (s.is_proof ? PROOF_WINDOW_NS : WINDOW_NS);
}

static void close_window(void)
{
	uint64_t end_ns, length_ns, run, work;
	double   burden_ns;

	end_ns = hooks_close_window();
	length_ns = end_ns - s.begin_ns;
	gather_refresh();
	hooks_leave_window();
	if (s.is_hooked)
		gather_window(s.begin_ns, end_ns, (double)s.period_ns / PERIOD_LEAST_NS);
	if (s.is_proof) {
		totals(&run, &work);
		write_window(s.begin_ns, length_ns, s.is_hooked, run - s.run_before,
		             work - s.work_before);
	}
	hooks_calls_off();
	go_first(0);
	s.is_open = 0;
	if (s.is_proof) {
		plan_period(boottime_ns());
		return;
	}
	charge();
	/* A little more than what the window itself had: it was hooked in for longer than it was
	 * open. */
	burden_ns = s.price_ns * (double)(hooks_hits() - s.begin_hits);
	s.quiet = burden_ns <= s.budget * (double)length_ns ? s.quiet + 1 : 0;
	s.period_begin_ns += s.period_ns;
	set_period(burden_ns);
	s.is_over = s.quiet >= QUIET_WINDOWS;
	if (s.is_over)
		s.next_ns = s.period_begin_ns;
	else
		plan_period(boottime_ns() > s.period_begin_ns ? boottime_ns() : s.period_begin_ns);
}

static void end_period(void)
{
	s.is_over = 0;
	charge();
	if (s.credit_ns < credit_most() / 2 || hooks_calls_on()) {
		plan_period(boottime_ns());
		return;
	}
	gather_resume();
	count_all();
}

void budget_turn(void)
{
	if (s.is_used && s.counts_all)
		turn_counting();
	if (!s.is_used || boottime_ns() < s.next_ns)
		return;
	if (s.is_open)
		close_window();
	else if (s.is_over)
		end_period();
	else
		open_window();
}

int budget_window_is_open(void)
{
	return s.is_open;
}

void budget_end(void)
{
	if (s.is_open)
		close_window();
	if (s.is_used)
		gather_stop_counting();
}
