/* web.c -- see web.h. */
#include "web.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/record.h"
#include "../../loadgen/load.h"
#include "running.h"

enum { WARM_LEAST = 200, WARM_EACH = 4 };

struct web_order web_order = { .size = 1024, .clients = 1, .timeout_ms = 10000 };

static struct {
	struct options   options;
	struct reference reference;
	struct result   *found; /* since batches have their present size */
	struct loop     *loop;
	struct web_waits waits;
} s;

void web_options(struct options *options, const char *path)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&options->address;

	*options = (struct options){
		.address_length = sizeof(*address),
		.host = "localhost",
		.path = path,
		.clients = (unsigned)web_order.clients,
		.threads = 1,
		.connection = (enum connection)web_order.connection,
		.timeout_ns = web_order.timeout_ms * 1000000,
		.rate = (double)web_order.rate,
		.arrivals = web_order.poisson ? SPREAD_EXPONENTIAL : SPREAD_CONSTANT,
		.verified = 0.01,
		.seed = 1,
	};
	if (running_is_described()) {
		running_options(options);
		return;
	}
	address->sin_family = AF_INET;
	address->sin_port = htons(server_port());
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int web_allow_files(uint64_t connections)
{
	if (web_order.connection == CONNECTION_KEEP)
		return files_allow(connections);
	files_take(connections);
	return 0;
}

static int fill_page(struct reference *page)
{
	uint32_t state = 2463534242u;

	*page = (struct reference){ .body = malloc(web_order.size),
		                    .length = web_order.size,
		                    .is_fixed = 1 };
	if (!page->body)
		return fail("malloc");
	for (uint64_t i = 0; i < web_order.size; i++)
		page->body[i] = i % 64 == 63 ? '\n'
		                             : (unsigned char)('a' + next_number(&state) % 26);
	return server_file("content/page", page->body, page->length);
}

int web_own_limit(const struct result *found)
{
	char kinds[200] = "";

	for (int i = 0; i < OWN_LIMITS; i++) {
		size_t used = strlen(kinds);

		if (found->lacked[i])
			snprintf(kinds + used, sizeof(kinds) - used, "%s%s (%s)", used ? ", " : "",
			         own_limits[i].name, own_limits[i].says);
	}
	if (!*kinds)
		return 0;
	return fail_check("the load generator's own limit: %s: this says nothing about the server",
	                  kinds);
}

int web_outcome(const struct result *found, uint64_t asked)
{
	char     kinds[200] = "";
	uint64_t failed = 0;
	int      outcome = server_check();

	if (!outcome)
		outcome = web_own_limit(found);
	for (int i = 0; i < SERVER_FAILURES; i++) {
		size_t used = strlen(kinds);

		if (found->failures[i])
			snprintf(kinds + used, sizeof(kinds) - used, "%s%s %llu", used ? ", " : "",
			         failure_names[i], (unsigned long long)found->failures[i]);
		failed += found->failures[i];
	}
	if (!failed || outcome)
		return outcome;
	return fail_check("%llu of %llu requests failed: %s%s%s", (unsigned long long)failed,
	                  (unsigned long long)asked, kinds, found->malformed ? ": the server " : "",
	                  found->malformed ? found->malformed : "");
}

static int perform(uint64_t requests)
{
	int error = loop_perform(s.loop, requests);

	if (error) {
		errno = error;
		return fail("the load");
	}
	return web_outcome(s.found, requests);
}

/* Fetches the page of a server that runs already. */
static int fetch_page(struct reference *page)
{
	struct options options;
	char           why[256];

	web_options(&options, "");
	return reference_fetch(&options, page, why, sizeof(why)) ? fail_check("%s", why) : 0;
}

int web_serve(struct reference *page)
{
	int outcome;

	if (running_is_described()) {
		if ((outcome = web_allow_files(web_order.clients)) || (outcome = running_prepare()))
			return outcome;
		return fetch_page(page);
	}
	if ((outcome = web_allow_files(web_order.clients)) || (outcome = server_prepare()) ||
	    (outcome = fill_page(page)))
		return outcome;
	return server_start();
}

static void tell_server(const struct result *found)
{
	const struct tally *tally = &found->waits.tally;

	record_number("connections", tally->connections);
	record_number("connecting_ns", tally->connecting_ns);
	record_number("closed", tally->closed);
	record_number("resent", tally->resent);
	record_number("longest_ns", found->waits.longest_ns);
	record_number("silent_ns", result_silent_ns(found));
	record_object("failures");
	for (int i = 0; i < SERVER_FAILURES; i++)
		if (found->failures[i])
			record_number(failure_names[i], found->failures[i]);
	record_object_close();
	record_text("malformed", found->malformed);
}

static void tell_generator(const struct result *found, const struct load_time *time)
{
	record_number("elapsed_ns", time->elapsed_ns);
	record_number("busiest_ns", time->busiest_ns);
	record_number("client_ns", found->user_ns + found->system_ns);
	record_number("stalled_ns", found->waits.tally.stalled_ns);
	record_number("late_ns", histogram_quantile(&found->lag, 0.99));
	record_object("own_limits");
	for (int i = 0; i < OWN_LIMITS; i++)
		if (found->lacked[i])
			record_number(own_limits[i].name, found->lacked[i]);
	record_object_close();
}

void web_tell_load(uint64_t copy, uint64_t window_ns, const struct reference *page,
                   const struct result *found, const struct load_time *time)
{
	record_open("load");
	record_number("copy", copy);
	record_number("window_ns", window_ns);
	record_number("answers", found->answers);
	record_number("bytes", found->bytes);
	record_number("verified", found->verified);
	record_truth("body_fixed", page->is_fixed);
	record_number("requests", found->requests);
	record_number("started", found->started);
	record_number("waited", found->waited);
	record_number("unsent", found->unsent);
	tell_server(found);
	tell_generator(found, time);
	record_number("objects", found->objects);
	record_number("objects_failed", found->objects_failed);
	record_number("objects_lost", found->objects_lost);
}

int web_setup(void)
{
	uint64_t warm = web_order.rate ? 0 : web_order.clients * WARM_EACH;
	int      outcome = web_serve(&s.reference);

	if (outcome)
		return outcome;
	web_options(&s.options, "/page");
	s.found = calloc(1, sizeof(*s.found));
	s.loop = s.found ? loop_open(&s.options, &s.reference, s.found) : NULL;
	if (!s.loop)
		return fail("making the clients");
	reports_begin(&s.found->intended);
	return perform(warm > WARM_LEAST ? warm : WARM_LEAST);
}

int web_before(uint64_t operations)
{
	if (reports_before(operations)) {
		s.found->waits = (struct waits){ 0 };
		s.found->requests = 0;
		s.found->latency = (struct histogram){ 0 };
	}
	return 0;
}

int web_fetch(uint64_t operations, uint64_t requests)
{
	int outcome = perform(operations * requests);

	reports_after(operations * requests);
	return outcome;
}

struct web_waits web_waits_of(const struct result *found, uint64_t span_ns)
{
	double requests = (double)(found->requests ? found->requests : 1);
	double span = (double)(span_ns ? span_ns : 1);
	double silent = (double)result_silent_ns(found) * 1000 / span;

	return (struct web_waits){
		.connections = (uint64_t)((double)found->waits.tally.connections * 1000 / requests +
		                          0.5),
		.connecting_ns = (uint64_t)((double)found->waits.tally.connecting_ns / requests +
		                            0.5),
		.longest_ns = found->waits.longest_ns,
		.silent = silent < 1000 ? (uint64_t)(silent + 0.5) : 1000,
	};
}

int web_report_waits(struct web_waits waits)
{
	s.waits = waits;
	reported_ns = waits.connections;
	return 0;
}

int web_report_connections(uint64_t operations)
{
	(void)operations;
	return web_report_waits(web_waits_of(s.found, s.found->waits.span_ns));
}

int web_report_connecting(uint64_t operations)
{
	(void)operations;
	return report_ns((double)s.waits.connecting_ns);
}

int web_report_longest(uint64_t operations)
{
	(void)operations;
	return report_ns((double)s.waits.longest_ns);
}

int web_report_silent(uint64_t operations)
{
	(void)operations;
	reported_ns = s.waits.silent;
	return 0;
}

void web_teardown(void)
{
	loop_close(s.loop);
	server_end();
	free(s.reference.body);
	free(s.found);
}
