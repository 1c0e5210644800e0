/* web_load -- a web server under load for a while, and all that came of it.
 *
 * Measures     what `clients` clients get from a web server in `window_ms`, after `warm_ms` that do
 *              not count: as fast as it answers, with a pause of `think_us` in the mean after each
 *              answer, or at a `rate` whatever the server does. The server is started by the trial,
 *              or runs already (a URL). The metric "request" is the window by the answers: its
 *              inverse is the throughput. Latencies are of single requests, from the moment at
 *              which each was to be sent, those that failed among them. "server" and "client" are
 *              processor time a request; "connections", "connecting", "longest_wait" and "silent"
 *              are as in web_requests. "failed" is the share of requests that failed. The record
 *              "load" has the failures by kind, what the load generator lacked, and what it did not
 *              send. With `user_equivalents` users as in web_users ask instead of clients:
 *              "objects" is the window by the objects that ended, "objects_offered" what it would
 *              be if the server took no time, and object_latency is of objects, while files of them
 *              were under way.
 * Leaves out   what web_requests leaves out, where the server is on this machine.
 * Beware       a request that fails is counted and fails no trial, unless none is answered: look at
 *              "failed" before any other figure. A server that answers errors may do so faster than
 *              it serves. A trial is one window.
 * After        Glozer's wrk; Tene's wrk2 for rates.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/record.h"
#include "../../loadgen/load.h"
#include "web_files.h"

enum { CLIENTS_MOST = 1000000, WINDOW_MOST_MS = 3600000, PERMILLE = 1000, MILLION = 1000000 };

static uint64_t threads = 1, think_us, think_spread = 1, verify_permille = 10, warm_ms = 100,
		window_ms = 1000, user_equivalents;

static struct {
	struct options   options;
	struct users     users;
	struct reference reference;
	struct result    found; /* told after teardown */
	struct load_time time;
	char             digest[SHA256_HEX_ROOM];
} s;

static int setup(void)
{
	reports_begin(&s.found.intended);
	s.reference.is_fixed = 1; /* each of the users' files has its own body, and is checked */
	return user_equivalents ? web_files_serve(user_equivalents, &s.options, &s.users)
	                        : web_serve(&s.reference);
}

static void teardown(void)
{
	snprintf(s.digest, sizeof(s.digest), "%s",
	         user_equivalents && s.users.surge ? s.users.surge->digest : "");
	if (user_equivalents)
		web_files_end();
	else
		server_end();
	free(s.reference.body);
}

static void set_options(void)
{
	if (!user_equivalents)
		web_options(&s.options, "/page");
	s.options.threads = (unsigned)threads < s.options.clients ? (unsigned)threads
	                                                          : s.options.clients;
	s.options.think_ns = think_us * 1000;
	s.options.think = think_spread ? SPREAD_EXPONENTIAL : SPREAD_CONSTANT;
	s.options.verified = (double)verify_permille / PERMILLE;
	s.options.warmup_ns = warm_ms * 1000000;
	s.options.window_ns = window_ms * 1000000;
	s.options.seed = trial_seed();
}

static uint64_t failed(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < SERVER_FAILURES; i++)
		sum += s.found.failures[i];
	return sum;
}

/* One window. Without an answer there is no figure, and the failures say why. */
static int load(uint64_t operations)
{
	int error, outcome;

	set_options();
	reports_before(operations);
	s.found = (struct result){ 0 };
	error = load_run(&s.options, &s.reference, user_equivalents ? &s.users : NULL, &s.found,
	                 &s.time);
	reports_after(s.found.requests ? s.found.requests : 1);
	if (error)
		return fail_check("the load generator's own limit: the load ended early: %s",
		                  strerror(error));
	if ((outcome = server_check()))
		return outcome;
	if (s.found.answers)
		return report_ns((double)s.options.window_ns / (double)s.found.answers);
	if ((outcome = web_outcome(&s.found, failed())))
		return outcome;
	return fail_check("no request was answered within %llu ms", (unsigned long long)window_ms);
}

static int report_connections(uint64_t operations)
{
	(void)operations;
	return web_report_waits(web_waits_of(&s.found, s.options.window_ns));
}

static int report_failed(uint64_t operations)
{
	double requests = (double)(s.found.answers + failed());

	(void)operations;
	return report_ns((double)failed() * MILLION / requests);
}

/* The users ask for objects: files with those embedded in them. */
static int report_objects(uint64_t operations)
{
	uint64_t objects = s.found.objects;

	(void)operations;
	return report_ns(objects ? (double)s.options.window_ns / (double)objects : 0);
}

static int report_offered(uint64_t operations)
{
	(void)operations;
	return report_ns(user_equivalents ? 1e9 / users_offered(&s.users, s.options.clients) : 0);
}

static int report_object_50(uint64_t operations)
{
	(void)operations;
	return report_quantile(&s.found.object, 0.5);
}

static int report_object_90(uint64_t operations)
{
	(void)operations;
	return report_quantile(&s.found.object, 0.9);
}

static int report_object_99(uint64_t operations)
{
	(void)operations;
	return report_quantile(&s.found.object, 0.99);
}

static int report_object_99_9(uint64_t operations)
{
	(void)operations;
	return report_quantile(&s.found.object, 0.999);
}

static void tell(uint64_t copy, int file)
{
	reports_tell(copy, file);
	reports_tell_histogram(copy, "object_latency", &s.found.object, file);
	if (!s.time.elapsed_ns)
		return;
	web_tell_load(copy, s.options.window_ns, &s.reference, &s.found, &s.time);
	record_text("content_sha256", *s.digest ? s.digest : NULL);
	record_close(file);
}

static const struct phase phases[] = {
	REPORT_PER("request", load, "request"),
	REPORTS_PER(report_server, "request"),
	WEB_REPORTS(report_connections, "request"),
	WEB_FIGURE("failed", report_failed, "per million of the requests"),
	REPORT_PER("objects", report_objects, "object"),
	REPORT_PER("objects_offered", report_offered, "object"),
	REPORT_PER("object_latency_50", report_object_50, "object"),
	REPORT_PER("object_latency_90", report_object_90, "object"),
	REPORT_PER("object_latency_99", report_object_99, "object"),
	REPORT_PER("object_latency_99_9", report_object_99_9, "object"),
	{ 0 },
};

static const struct parameter parameters[] = {
	WEB_PARAMETERS(CLIENTS_MOST),
	WEB_RATE_PARAMETERS,
	WEB_USERS_PARAMETERS(&user_equivalents, 0),
	NUMBER("threads", "event loops that the clients are divided among", &threads, 1,
	       THREADS_MOST),
	NUMBER("think_us", "mean pause of a client after an answer", &think_us, 0, 600000000),
	NUMBER("think_spread", "0: each pause is that long; 1: they are exponential", &think_spread,
	       0, 1),
	NUMBER("verify_permille", "of the bodies are compared to the last byte", &verify_permille,
	       0, PERMILLE),
	NUMBER("warm_ms", "before the window", &warm_ms, 0, 600000),
	NUMBER("window_ms", "of the load that counts", &window_ms, 10, WINDOW_MOST_MS),
	{ 0 },
};

const struct workload workload_web_load = {
	.name = "web_load",
	.group = "server",
	.summary = "a web server under load for a while",
	.operation = "window",
	.setup = setup,
	.phases = phases,
	.teardown = teardown,
	.tell = tell,
	.tells = "load",
	.parameters = parameters,
};
