/* window.c -- see window.h. */
#include "window.h"

#include <sys/prctl.h>
#include <time.h>

const char *const failure_names[FAILURES] = {"connect", "timeout", "closed", "malformed",
                                             "status",  "length",  "body"};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void window_always(struct window *window, struct result *result)
{
	*window = (struct window){.began = now_ns(), .closes = UINT64_MAX / 2, .drains = UINT64_MAX / 2, .result = result};
	prctl(PR_SET_TIMERSLACK, 1);
}

void window_begin(struct window *window, const struct options *options, uint64_t began, struct result *result)
{
	*window = (struct window){
		.began = began,
		.opens = began + options->warmup_ns,
		.closes = began + options->warmup_ns + options->window_ns,
		.drains = began + options->warmup_ns + options->window_ns + options->window_ns / DRAIN_PART,
		.has_seconds = 1,
		.result = result,
	};
	prctl(PR_SET_TIMERSLACK, 1);
	getrusage(RUSAGE_THREAD, &window->before);
}

int window_has(const struct window *window, uint64_t time)
{
	return time >= window->opens && time < window->closes;
}

void window_count(struct window *window, const struct exchanges *exchanges, const struct exchange *exchange,
                  enum failure failure)
{
	struct result *result = window->result;
	struct second  none = {0}, *second = &none;

	result->requests++;
	if (window_has(window, exchange->intended)) {
		histogram_add(&result->latency, exchanges->now - exchange->started);
		result->latency_ns += exchanges->now - exchange->started;
		histogram_add(&result->intended, exchanges->now - exchange->intended);
	}
	if (window->has_seconds && window_has(window, exchanges->now))
		second = &result->seconds[(exchanges->now - window->opens) / SECOND_NS];
	if (failure != FAILURES && exchange->intended < window->closes && exchanges->now >= window->opens) {
		window->has_failed = 1;
		result->failures[failure]++;
		second->failures++;
	}
	if (failure != FAILURES || !window_has(window, exchanges->now))
		return;
	result->answers++;
	result->bytes += exchange->response.received;
	result->verified += exchange->is_compared;
	second->answers++;
	second->bytes += exchange->response.received;
}

void window_count_unsent(struct window *window, uint64_t intended, uint64_t now)
{
	if (!window_has(window, intended))
		return;
	window->result->unsent++;
	histogram_add(&window->result->intended, now - intended);
}

void window_look(struct window *window, const struct exchanges *exchanges)
{
	if (exchanges->now < window->opens)
		window->connections_before = exchanges->connections;
}

static uint64_t ns_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_usec * 1000;
}

void window_end(struct window *window, const struct exchanges *exchanges)
{
	struct rusage after;

	getrusage(RUSAGE_THREAD, &after);
	window->result->user_ns = ns_of(after.ru_utime) - ns_of(window->before.ru_utime);
	window->result->system_ns = ns_of(after.ru_stime) - ns_of(window->before.ru_stime);
	window->result->connections = exchanges->connections - window->connections_before;
}
