/* window.c -- see window.h. */
#include "window.h"

#include <sys/prctl.h>

#include "../base/posix/timespec.h"
#include "../base/posix/usage.h"

const char *const failure_names[FAILURES] = {
	"connect",    "timeout", "closed", "malformed", "redirect",  "status 4xx",
	"status 5xx", "status",  "length", "body",      "generator",
};

enum failure failure_of_status(int status)
{
	switch (status / 100) {
	case 2:
		return FAILURES;
	case 3:
		return FAILURE_REDIRECT;
	case 4:
		return FAILURE_CLIENT_ERROR;
	case 5:
		return FAILURE_SERVER_ERROR;
	default:
		return FAILURE_STATUS;
	}
}

void window_always(struct window *window, struct result *result)
{
	*window = (struct window){ .began = clock_ns(),
		                   .closes = UINT64_MAX / 2,
		                   .drains = UINT64_MAX / 2,
		                   .answered = &window->own_answered,
		                   .owed = UINT64_MAX,
		                   .result = result };
	prctl(PR_SET_TIMERSLACK, 1);
}

void window_resume(struct window *window, struct exchanges *exchanges)
{
	exchanges_resume(exchanges);
	window->began = exchanges->now;
	atomic_store(window->answered, window->began);
}

/* Adds what the exchanges have counted since. */
static void take_tally(struct window *window, const struct exchanges *exchanges)
{
	struct tally *into = &window->result->waits.tally, *before = &window->counted;
	struct tally  now = exchanges->tally;

	now.stalled_ns = exchanges->stalls.total_ns;
	into->connections += now.connections - before->connections;
	into->connecting_ns += now.connecting_ns - before->connecting_ns;
	into->closed += now.closed - before->closed;
	into->resent += now.resent - before->resent;
	into->stalled_ns += now.stalled_ns - before->stalled_ns;
	*before = now;
}

void window_pause(struct window *window, const struct exchanges *exchanges)
{
	window->result->waits.span_ns += clock_ns() - window->began;
	take_tally(window, exchanges);
}

void window_begin(struct window *window, const struct options *options, uint64_t began,
                  struct result *result)
{
	*window = (struct window){
		.began = began,
		.opens = began + options->warmup_ns,
		.closes = began + options->warmup_ns + options->window_ns,
		.drains = began + options->warmup_ns + options->window_ns +
		          options->window_ns / DRAIN_PART,
		.has_seconds = 1,
		.answered = options->answered ? options->answered : &window->own_answered,
		.own_answered = began,
		.owed = UINT64_MAX,
		.result = result,
	};
	prctl(PR_SET_TIMERSLACK, 1);
	window->before = usage_of(RUSAGE_THREAD);
}

int window_has(const struct window *window, uint64_t time)
{
	return time >= window->opens && time < window->closes;
}

/* Whether any time of a request that has ended was in it. */
static int window_has_any(const struct window *window, const struct exchange *exchange,
                          const struct exchanges *exchanges)
{
	return exchange->intended < window->closes && exchanges->came >= window->opens;
}

/* Something was answered then, for which a client had waited at least since that time. */
static void hear(struct window *window, const struct stalls *stalls, uint64_t since, uint64_t came)
{
	uint64_t last = atomic_load_explicit(window->answered, memory_order_relaxed);

	do
		if (came < last + TOGETHER_NS)
			return;
	while (!atomic_compare_exchange_weak(window->answered, &last, came));
	since = since > last ? since : last;
	since = since > window->opens ? since : window->opens;
	came = came < window->closes ? came : window->closes;
	if (came < since + SILENCE_LEAST_NS)
		return;
	came -= stalls_within(stalls, since, came);
	if (came >= since + SILENCE_LEAST_NS)
		histogram_add(&window->result->waits.silences, came - since);
}

/* Whether the server has answered, be it wrongly. */
static int is_answer(enum failure failure)
{
	return failure == FAILURES || (failure >= FAILURE_REDIRECT && failure < SERVER_FAILURES);
}

static void count_longest(struct window *window, const struct exchanges *exchanges, uint64_t from,
                          uint64_t to)
{
	uint64_t *longest = &window->result->waits.longest_ns;

	if (to - from > *longest)
		to -= stalls_within(&exchanges->stalls, from, to);
	if (to - from > *longest)
		*longest = to - from;
}

/* What its end says of how long clients wait. */
static void count_wait(struct window *window, const struct exchanges *exchanges,
                       const struct exchange *exchange, enum failure failure)
{
	uint64_t since = exchange->started;

	if (window_has_any(window, exchange, exchanges))
		count_longest(window, exchanges, exchange->intended, exchanges->came);
	if (exchanges->first < exchanges->count && exchanges->all[exchanges->first].started < since)
		since = exchanges->all[exchanges->first].started;
	if (window->owed < since)
		since = window->owed;
	if (is_answer(failure))
		hear(window, &exchanges->stalls, since, exchanges->came);
	window->owed = is_answer(failure) ? UINT64_MAX : since;
}

void window_count(struct window *window, const struct exchanges *exchanges,
                  const struct exchange *exchange, enum failure failure)
{
	struct result *result = window->result;
	struct second  none = { 0 }, *second = &none;

	if (failure == FAILURE_OWN) {
		window->has_failed = 1;
		if (window_has_any(window, exchange, exchanges)) {
			result->failures[failure]++;
			result->lacked[exchange->lacked]++;
		}
		return;
	}
	if (failure == FAILURE_MALFORMED && !result->malformed)
		result->malformed = exchange->response.why;
	count_wait(window, exchanges, exchange, failure);
	result->requests++;
	if (window_has(window, exchange->intended)) {
		histogram_add(&result->latency, exchanges->came - exchange->started);
		result->latency_ns += exchanges->came - exchange->started;
		histogram_add(&result->intended, exchanges->came - exchange->intended);
	}
	if (window->has_seconds && window_has(window, exchanges->came))
		second = &result->seconds[(exchanges->came - window->opens) / SECOND_NS];
	if (failure != FAILURES && window_has_any(window, exchange, exchanges)) {
		window->has_failed = 1;
		result->failures[failure]++;
		second->failures++;
	}
	if (failure != FAILURES || !window_has(window, exchanges->came))
		return;
	result->answers++;
	result->bytes += exchange->response.received;
	result->verified += exchange->is_compared;
	second->answers++;
	second->bytes += exchange->response.received;
}

void window_count_unsent(struct window *window, const struct exchanges *exchanges,
                         uint64_t intended, uint64_t now)
{
	if (!window_has(window, intended))
		return;
	window->result->unsent++;
	count_longest(window, exchanges, intended, now);
	histogram_add(&window->result->intended, now - intended);
}

uint64_t result_silent_ns(const struct result *result)
{
	uint64_t usual = 10 * histogram_quantile(&result->latency, 0.5), silent = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (result->waits.silences.counts[i] && histogram_value(i) > usual)
			silent += result->waits.silences.counts[i] * histogram_value(i);
	return silent;
}

void window_end(struct window *window, const struct exchanges *exchanges)
{
	struct rusage after = usage_of(RUSAGE_THREAD);

	window->result->user_ns = timeval_ns(after.ru_utime) - timeval_ns(window->before.ru_utime);
	window->result->system_ns = timeval_ns(after.ru_stime) -
	                            timeval_ns(window->before.ru_stime);
	take_tally(window, exchanges);
	if (window->owed != UINT64_MAX)
		hear(window, &exchanges->stalls, window->owed, window->closes);
}
