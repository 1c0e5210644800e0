/* windows.c -- see windows.h.
 *
 * Time is cut into periods, and in each lies one window, at a random place: so that what a process does at regular times
 * is met as often as not. What is counted in windows is set against the time that the process ran in them, and that
 * against all the time that it ran, which the kernel knows exactly: on a machine whose processors are all busy, our
 * waking up itself decides who runs next. How long the next period is follows from the windows before it: so long that
 * the hooks cost no more than the budget.
 */
#include "windows.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>

#include "gather.h"
#include "hooks.h"

enum {
	WINDOW_NS = 2000000,
	RAMP_NS = 400000,            /* hooking in and out, in which the hook is paid for and nothing is counted */
	PERIOD_LEAST_NS = 250000000, /* the turns themselves cost us some 0.7 ms */
	PROOF_WINDOW_NS = 40000000,
};
#define PERIOD_MOST_NS UINT64_C(8000000000)

static struct {
	int      is_used, is_proof, is_open, is_hooked, is_second; /* of its pair, with --prove */
	double   budget;
	uint64_t period_begin_ns, period_ns;
	uint64_t next_ns, begin_ns;
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

static void plan_period(uint64_t begin_ns)
{
	uint64_t room = s.is_proof ? 1 : s.period_ns - WINDOW_NS - RAMP_NS;

	s.period_begin_ns = begin_ns;
	s.next_ns = begin_ns + draw(room);
}

void windows_open(const struct order *order)
{
	if (order->detail != BUDGET && !order->prove)
		return;
	s.is_used = 1;
	s.is_proof = order->prove;
	s.budget = order->budget;
	if (getrandom(&s.state, sizeof s.state, GRND_NONBLOCK) != (ssize_t)sizeof s.state)
		s.state = now_ns();
	/* Nothing is known yet: as if a storm of the cheapest calls raged. */
	s.period_ns = (uint64_t)((WINDOW_NS + RAMP_NS) * 0.4 / s.budget);
	if (s.period_ns < PERIOD_LEAST_NS)
		s.period_ns = PERIOD_LEAST_NS;
	if (s.is_proof)
		s.period_ns = PROOF_WINDOW_NS;
	plan_period(now_ns());
}

uint64_t windows_next(void)
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

/* On a machine whose processors are all busy, waking up to end a window can take many times its length. For
 * that while we go before others, if we may; a window that is longer all the same is counted as what it was. */
static void go_first(int first)
{
	struct sched_param priority = { .sched_priority = first };

	sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &priority);
}

/* Pairs of windows, one hooked and one not, in random order: what drifts then touches both alike. */
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
	if (s.is_hooked)
		hooks_calls_on();
	if (s.is_proof) {
		gather_look();
		totals(&s.run_before, &s.work_before);
	}
	s.begin_ns = hooks_open_window(s.is_hooked);
	s.is_open = 1;
	s.next_ns = s.begin_ns + (s.is_proof ? PROOF_WINDOW_NS : WINDOW_NS);
}

/* So long that (hits x price) over the period stays within the share. Idle processes are looked at ever
 * more rarely: what they do then is still counted without bias, only less surely. */
static void adapt(uint64_t hits, uint64_t length_ns)
{
	double price = hooks.hook_ns == UNKNOWN ? 120 : (double)hooks.hook_ns;
	double burden = (double)hits * price * (double)(length_ns + RAMP_NS) / (double)length_ns;
	double period = burden / s.budget;

	if (!hits)
		period = 4.0 * (double)s.period_ns;
	if (period < PERIOD_LEAST_NS)
		period = PERIOD_LEAST_NS;
	s.period_ns = period > (double)PERIOD_MOST_NS ? PERIOD_MOST_NS : (uint64_t)period;
}

static void close_window(void)
{
	uint64_t end_ns, length_ns, run, work, calls = 0;

	end_ns = hooks_close_window();
	length_ns = end_ns - s.begin_ns;
	gather_look();
	if (s.is_hooked)
		calls = gather_window(s.begin_ns, end_ns);
	if (s.is_proof) {
		totals(&run, &work);
		write_window(s.begin_ns, length_ns, s.is_hooked, run - s.run_before, work - s.work_before);
	}
	hooks_calls_off();
	go_first(0);
	s.is_open = 0;
	if (!s.is_proof)
		adapt(calls, length_ns);
	s.period_begin_ns += s.period_ns;
	plan_period(s.is_proof || now_ns() > s.period_begin_ns ? now_ns() : s.period_begin_ns);
}

void windows_turn(void)
{
	if (!s.is_used || now_ns() < s.next_ns)
		return;
	if (s.is_open)
		close_window();
	else
		open_window();
}

int windows_is_open(void)
{
	return s.is_open;
}

void windows_close(void)
{
	if (s.is_used && s.is_open)
		close_window();
}
