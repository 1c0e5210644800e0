/* web_saturation -- the highest rate of requests that a real web server holds.
 *
 * Measures     how many requests a second a web server answers while `share_permille` of 1000 take
 *              no longer than `limit_us` from the moment at which each was to be sent, and none
 *              fails. A load as fast as `clients` go says where to look; then `steps` open loads of
 *              `step_ms`, at random moments, divide the range between a rate that is held and one
 *              that is not: the first at random, the others in halves. The metric "request" is the
 *              time from one request to the next at the rate that is found: its inverse is the
 *              rate. The latencies, "server" and "client" (the processor time a request), and
 *              "connections", "connecting", "longest_wait" and "silent", as web_requests has them,
 *              are of the highest rate that was held. What gave way is told by the lowest one that
 *              was not: "beyond_server" and "beyond_client" are the processor time that the server
 *              and the load generator used in each second, "beyond_wait" how long a request waited
 *              for a free connection, in the mean, and "beyond_late" how late one in a hundred left
 *              although one was free, if that is what gave way. The record "load" is of the highest
 *              rate that was held, and says how many steps were held, or what gave way in them.
 * Leaves out   what web_requests leaves out.
 * Beware       one search is rough: a step of 200 ms has some thousand requests, and the last
 *              halves a range of 3 %. Its scatter is the trials', which give the interval.
 *              `clients` is the number of connections: a server of that many processes serves no
 *              more. A rate is not held either if the load generator works more than 80 % of the
 *              time, or lacks something. A step that was not held while one request in a hundred
 *              left late by a tenth of the limit is tried again, three times in all.
 * After        bisection as in RFC 2544, section 26.1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/record.h"
#include "../../loadgen/load.h"
#include "web.h"

static uint64_t threads = 1, limit_us = 10000, share_permille = 990, steps = 7, step_ms = 200;

static const double from = 0.1, to = 1.5; /* of what the clients get as fast as they go */
static const double busy_most = 0.8;
static const double late_most = 0.1; /* of the limit */
enum { TRIES = 3 };                  /* of a step at which the load generator was late */

/* Of the server, and of the load generator: what was not held. Their names are the records'. */
enum held { HELD, FAILED, LATE, UNSENT, CLIENT_LACKED, CLIENT_BUSY, CLIENT_LATE, ENDS };
static const struct {
	const char *name, *says;
} ends[ENDS] = {
	{ "held", "" },
	{ "failures", "requests failed" },
	{ "latency", "latency rose above the limit" },
	{ "unsent", "requests piled up unsent" },
	{ "lacked", "the load generator's own limit: it lacked something" },
	{ "busy", "the load generator's own limit: it was busy" },
	{ "late", "the load generator's own limit: it was late" },
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
	struct result    found, of_held; /* told after teardown */
	struct load_time time, time_of_held;
	struct probe     held, beyond;
	uint64_t         steps[ENDS]; /* that ended so */
} s;

/* At that many requests a second; 0: as fast as the clients go. Returns an outcome. */
static int load(double rate, uint64_t seed, struct probe *probe)
{
	struct result *found = &s.found;
	uint64_t       server_ns = server_processor_ns();
	struct options options;
	int            error;

	web_options(&options, "/page");
	options.warmup_ns = step_ms * 250000;
	options.window_ns = step_ms * 1000000;
	options.rate = rate;
	options.arrivals = SPREAD_EXPONENTIAL;
	options.threads = (unsigned)threads < options.clients ? (unsigned)threads : options.clients;
	options.seed = seed;
	*found = (struct result){ 0 };
	error = load_run(&options, &s.reference, NULL, found, &s.time);
	server_ns = server_processor_ns() - server_ns;
	if (error)
		return fail_check("the load generator's own limit: the load ended early: %s",
		                  strerror(error));
	*probe = (struct probe){
		.rate = rate,
		.answered = (double)found->answers * 1000 / (double)step_ms,
		.server_ns = (double)server_ns,
		.client_ns = (double)(found->user_ns + found->system_ns),
		.seconds = (double)s.time.elapsed_ns / SECOND_NS,
		.requests = (double)(found->requests ? found->requests : 1),
		.wait_ns = histogram_mean(&found->intended) - histogram_mean(&found->latency),
		.late_ns = (double)histogram_quantile(&found->lag, 0.99),
		.latency_50_ns = (double)histogram_quantile(&found->intended, 0.5),
		.latency_99_ns = (double)histogram_quantile(&found->intended, 0.99),
		.waits = web_waits_of(found, options.window_ns),
	};
	return server_check();
}

static enum held judged(const struct probe *probe)
{
	const struct result *found = &s.found;
	double               share = (double)share_permille / 1000;
	/* What was left unsent is among the latencies by the time that it waited. That can be
	 * within a limit longer than the step, so its share counts by itself too. */
	int are_unsent = (double)found->unsent >
	                 (1 - share) * (double)(found->started + found->unsent);

	for (int i = 0; i < OWN_LIMITS; i++)
		if (found->lacked[i])
			return CLIENT_LACKED;
	for (int i = 0; i < SERVER_FAILURES; i++)
		if (found->failures[i])
			return FAILED;
	if ((double)s.time.busiest_ns > busy_most * (double)s.time.elapsed_ns)
		return CLIENT_BUSY;
	if (histogram_quantile(&found->intended, share) <= limit_us * 1000 && !are_unsent)
		return HELD;
	if (probe->late_ns > late_most * (double)limit_us * 1000)
		return CLIENT_LATE;
	return are_unsent ? UNSENT : LATE;
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

/* The first step's place in the range, so that searches do not all end at the same rates. */
static double first_place(void)
{
	uint64_t state = trial_seed();

	random_next(&state);
	return 0.3 + 0.4 * random_share(&state);
}

static int search(uint64_t operations)
{
	struct probe probe = { 0 };
	double       low, high, place = first_place();
	enum held    why = HELD;
	int          outcome = load(0, trial_seed(), &probe);

	(void)operations;
	if (outcome || (probe.answered <= 0 && (outcome = web_own_limit(&s.found))))
		return outcome;
	if (probe.answered <= 0)
		return fail_check("no request was answered within %llu ms",
		                  (unsigned long long)step_ms);
	low = log(from * probe.answered);
	high = log(to * probe.answered);
	for (uint64_t i = 0; i < steps; i++, place = 0.5) {
		double rate = exp(low + place * (high - low));

		if ((outcome = step(rate, trial_seed() + i + 1, &probe, &why)))
			return outcome;
		s.steps[why]++;
		if (why) {
			high = log(rate);
			s.beyond = probe;
		} else {
			low = log(rate);
			s.held = probe;
			s.of_held = s.found;
			s.time_of_held = s.time;
		}
	}
	if (s.held.rate <= 0)
		return fail_check("not even %.0f requests a second were held: %s", s.beyond.rate,
		                  ends[why].says);
	return report_ns(SECOND_NS / exp((low + high) / 2));
}

static int setup(void)
{
	return web_serve(&s.reference);
}

static void teardown(void)
{
	server_end();
	free(s.reference.body);
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

static void tell(uint64_t copy, int file)
{
	server_tell(copy, file);
	if (s.held.rate <= 0)
		return;
	reports_tell_histogram(copy, "latency", &s.of_held.intended, file);
	web_tell_load(copy, step_ms * 1000000, &s.reference, &s.of_held, &s.time_of_held);
	record_number("limit_ns", limit_us * 1000);
	record_number("share_permille", share_permille);
	record_object("steps");
	for (int i = 0; i < ENDS; i++)
		if (s.steps[i])
			record_number(ends[i].name, s.steps[i]);
	record_object_close();
	record_close(file);
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
	WEB_PARAMETERS(WEB_CLIENTS_MOST),
	NUMBER("threads", "event loops that the clients are divided among", &threads, 1,
	       THREADS_MOST),
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
	.tell = tell,
	.tells = "load",
	.teardown = teardown,
	.parameters = parameters,
};
