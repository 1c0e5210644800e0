/* web_saturation -- the highest rate of requests that a real web server holds.
 *
 * Measures     how many requests a second a web server answers while `share_permille` of 1000 take
 *              no longer than `limit_us` from the moment at which each was to be sent, and none
 *              fails. A load as fast as `clients` go says where to look; then
 *              `steps` open loads of `step_ms`, at random moments, halve the range between a rate
 *              that is held and one that is not. The metric "request" is the time from one request
 *              to the next at the rate that is found: its inverse is the rate. The latencies,
 *              "server" and "client" (the processor time a request), and "connections",
 *              "connecting", "longest_wait" and "silent", as web_requests has them, are of the
 *              highest rate that was held. What gave way is told by the lowest one that was not:
 *              "beyond_server" and "beyond_client" are the processor time that the server and the
 *              load generator used in each second, "beyond_wait" how long a request waited for a
 *              free connection, in the mean, and "beyond_late" how late one in a hundred left
 *              although one was free, if that is what gave way.
 * Leaves out   what web_requests leaves out.
 * Beware       one search is rough: a step of 200 ms has some thousand requests, and the last
 *              halves a range of 3 %. Its scatter is the trials', which give the interval.
 *              `clients` is the number of connections: a server of that many processes serves no
 *              more. A rate is not held either if the load generator works more than 80 % of the
 *              time. A step that was not held while one request in a hundred left late by a tenth
 *              of the limit is tried again, three times in all.
 * After        the search of `steelyard load --saturation`; bisection as in RFC 2544, section 26.1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../loadgen/client.h"
#include "web.h"

static uint64_t limit_us = 10000, share_permille = 990, steps = 7, step_ms = 200;

static const double from = 0.1, to = 1.5; /* of what the clients get as fast as they go */
static const double busy_most = 0.8;
static const double late_most = 0.1; /* of the limit */
enum { TRIES = 3 };                  /* of a step at which the load generator was late */

/* A search in which the load generator lacked something says nothing of the server, and fails. */
enum held { HELD, FAILED, CLIENT_BUSY, CLIENT_LATE, LATE };
static const char *const what_gave_way[] = {
	"",
	"requests failed",
	"the load generator's own limit: it was busy",
	"the load generator's own limit: it was late",
	"latency rose above the limit",
};

/* What came of one load. */
struct probe {
	double           rate, answered; /* a second */
	double           server_ns, client_ns, seconds, requests, wait_ns, late_ns;
	double           latency_50_ns, latency_99_ns;
	struct web_waits waits;
};

static struct {
	struct reference reference;
	struct result   *found;
	struct probe     held, beyond;
} s;

/* At that many requests a second; 0: as fast as the clients go. Returns an outcome. */
static int load(double rate, uint64_t seed, struct probe *probe)
{
	struct result *found = s.found;
	uint64_t       server_ns = server_processor_ns(), began = clock_ns(), ended;
	struct options options;

	web_options(&options, "/page");
	options.warmup_ns = step_ms * 250000;
	options.window_ns = step_ms * 1000000;
	options.rate = rate;
	options.arrivals = SPREAD_EXPONENTIAL;
	options.seed = seed;
	*found = (struct result){ 0 };
	loop_run(&options, &s.reference, 0, options.clients, began, found);
	ended = clock_ns(); /* before the next line, which walks over all processes */
	server_ns = server_processor_ns() - server_ns;
	if (found->broken)
		return fail_check("the load generator's own limit: the load ended early: %s",
		                  strerror(found->broken));
	*probe = (struct probe){
		.rate = rate,
		.answered = (double)found->answers * 1000 / (double)step_ms,
		.server_ns = (double)server_ns,
		.client_ns = (double)(found->user_ns + found->system_ns),
		.seconds = (double)(ended - began) / SECOND_NS,
		.requests = (double)(found->requests ? found->requests : 1),
		.wait_ns = histogram_mean(&found->intended) - histogram_mean(&found->latency),
		.late_ns = (double)histogram_quantile(&found->lag, 0.99),
		.latency_50_ns = (double)histogram_quantile(&found->intended, 0.5),
		.latency_99_ns = (double)histogram_quantile(&found->intended, 0.99),
		.waits = web_waits_of(found, options.window_ns),
	};
	return server_check() ? OUTCOME_FAILED : web_own_limit(found);
}

static enum held judged(const struct probe *probe)
{
	const struct result *found = s.found;
	double               share = (double)share_permille / 1000;

	for (int i = 0; i < SERVER_FAILURES; i++)
		if (found->failures[i])
			return FAILED;
	if (probe->client_ns > busy_most * probe->seconds * SECOND_NS)
		return CLIENT_BUSY;
	/* What was left unsent is among the latencies by the time that it waited. That can be
	 * within a limit longer than the step, so its share counts by itself too. */
	if (histogram_quantile(&found->intended, share) <= limit_us * 1000 &&
	    (double)found->unsent <= (1 - share) * (double)(found->started + found->unsent))
		return HELD;
	return probe->late_ns > late_most * (double)limit_us * 1000 ? CLIENT_LATE : LATE;
}

static int step(double rate, uint64_t seed, struct probe *probe, enum held *why)
{
	int outcome = 0;

	*why = CLIENT_LATE;
	for (uint64_t i = 0; i < TRIES && *why == CLIENT_LATE && !outcome; i++)
		if (!(outcome = load(rate, seed + steps * i, probe)))
			*why = judged(probe);
	probe->late_ns *= *why == CLIENT_LATE;
	return outcome;
}

static int search(uint64_t operations)
{
	struct probe probe = { 0 };
	double       low, high;
	enum held    why = HELD;
	int          outcome = load(0, 1, &probe);

	(void)operations;
	if (outcome)
		return outcome;
	if (probe.answered <= 0)
		return fail_check("no request was answered within %llu ms",
		                  (unsigned long long)step_ms);
	low = from * probe.answered;
	high = to * probe.answered;
	for (uint64_t i = 0; i < steps; i++) {
		double rate = sqrt(low * high);

		if ((outcome = step(rate, i + 2, &probe, &why)))
			return outcome;
		if (why) {
			high = rate;
			s.beyond = probe;
		} else {
			low = rate;
			s.held = probe;
		}
	}
	if (s.held.rate <= 0)
		return fail_check("not even %.0f requests a second were held: %s", s.beyond.rate,
		                  what_gave_way[why]);
	return report_ns(SECOND_NS / sqrt(low * high));
}

static int setup(void)
{
	s.found = calloc(1, sizeof(*s.found));
	return s.found ? web_serve(&s.reference) : fail("calloc");
}

static void teardown(void)
{
	server_end();
	free(s.reference.body);
	free(s.found);
}

static int report_server_time(uint64_t operations)
{
	(void)operations;
	return report_ns(s.held.server_ns / s.held.requests);
}

static int report_client_time(uint64_t operations)
{
	(void)operations;
	return report_ns(s.held.client_ns / s.held.requests);
}

static int report_median(uint64_t operations)
{
	(void)operations;
	return report_ns(s.held.latency_50_ns);
}

static int report_99(uint64_t operations)
{
	(void)operations;
	return report_ns(s.held.latency_99_ns);
}

static int report_connections(uint64_t operations)
{
	(void)operations;
	return web_report_waits(s.held.waits);
}

static int report_beyond_server(uint64_t operations)
{
	(void)operations;
	return report_ns(s.beyond.rate > 0 ? s.beyond.server_ns / s.beyond.seconds : 0);
}

static int report_beyond_client(uint64_t operations)
{
	(void)operations;
	return report_ns(s.beyond.rate > 0 ? s.beyond.client_ns / s.beyond.seconds : 0);
}

static int report_beyond_wait(uint64_t operations)
{
	(void)operations;
	return report_ns(s.beyond.wait_ns > 0 ? s.beyond.wait_ns : 0);
}

static int report_beyond_late(uint64_t operations)
{
	(void)operations;
	return report_ns(s.beyond.late_ns);
}

static const struct phase phases[] = {
	REPORT_PER("request", search, "request"),
	REPORT_PER("server", report_server_time, "request"),
	REPORT_PER("client", report_client_time, "request"),
	REPORT_PER("latency_50", report_median, "request"),
	REPORT_PER("latency_99", report_99, "request"),
	WEB_REPORTS(report_connections, "request"),
	REPORT_PER("beyond_server", report_beyond_server, "second"),
	REPORT_PER("beyond_client", report_beyond_client, "second"),
	REPORT_PER("beyond_wait", report_beyond_wait, "request"),
	REPORT_PER("beyond_late", report_beyond_late, "request"),
	{ 0 },
};

static const struct parameter parameters[] = {
	WEB_PARAMETERS,
	NUMBER("limit_us", "that a request may take", &limit_us, 1, 600000000),
	NUMBER("share_permille", "of the requests that may take no longer", &share_permille, 1,
	       1000),
	NUMBER("steps", "of the search, each of which halves its range", &steps, 1, 30),
	NUMBER("step_ms", "of a step, after a quarter as long to settle", &step_ms, 10, 60000),
	{ 0 },
};

const struct workload workload_web_saturation = {
	.name = "web_saturation",
	.group = "server",
	.summary = "the highest rate of requests that a web server holds",
	.operation = "search",
	.setup = setup,
	.phases = phases,
	.tell = server_tell,
	.tells = "shared",
	.teardown = teardown,
	.parameters = parameters,
};
