/* window.c -- see window.h. */
#include "window.h"

#include <sys/prctl.h>

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
		                   .result = result };
	prctl(PR_SET_TIMERSLACK, 1);
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
		.result = result,
	};
	prctl(PR_SET_TIMERSLACK, 1);
	getrusage(RUSAGE_THREAD, &window->before);
}

int window_has(const struct window *window, uint64_t time)
{
	return time >= window->opens && time < window->closes;
}

void window_count(struct window *window, const struct exchanges *exchanges,
                  const struct exchange *exchange, enum failure failure)
{
	struct result *result = window->result;
	struct second  none = { 0 }, *second = &none;

	if (failure == FAILURE_OWN) {
		window->has_failed = 1;
		if (exchange->intended < window->closes && exchanges->came >= window->opens) {
			result->failures[failure]++;
			result->lacked[exchange->lacked]++;
		}
		return;
	}
	if (failure == FAILURE_MALFORMED && !result->malformed)
		result->malformed = exchange->response.why;
	result->requests++;
	if (window_has(window, exchange->intended)) {
		histogram_add(&result->latency, exchanges->came - exchange->started);
		result->latency_ns += exchanges->came - exchange->started;
		histogram_add(&result->intended, exchanges->came - exchange->intended);
	}
	if (window->has_seconds && window_has(window, exchanges->came))
		second = &result->seconds[(exchanges->came - window->opens) / SECOND_NS];
	if (failure != FAILURES && exchange->intended < window->closes &&
	    exchanges->came >= window->opens) {
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
