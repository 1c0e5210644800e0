/* web.h -- a web server with one document, and clients that fetch it. */
#ifndef STEELYARD_SERVER_WEB_H
#define STEELYARD_SERVER_WEB_H

#include <stdint.h>

#include "../api/workload.h"
#include "reports.h"
#include "server.h"

enum { WEB_SIZE_MOST = 16 << 20, WEB_CLIENTS_MOST = 10000 };

extern struct web_order {
	uint64_t size, clients, connection, rate, poisson, timeout_ms;
} web_order;

#define WEB_PARAMETERS(clients_most)                                                               \
	SERVER_PARAMETER,                                                                          \
		NUMBER("size", "bytes in the document", &web_order.size, 1, WEB_SIZE_MOST),        \
		NUMBER("clients",                                                                  \
	               "clients, each of which waits for an answer before the next request",       \
	               &web_order.clients, 1, clients_most),                                       \
		NUMBER("connection", "0: kept; 1: a new one each time; 2: the same, by HTTP/1.0",  \
	               &web_order.connection, 0, 2),                                               \
		NUMBER("timeout_ms", "after which a request has failed", &web_order.timeout_ms, 1, \
	               600000)

#define WEB_RATE_PARAMETERS                                                                   \
	NUMBER("rate",                                                                        \
	       "requests a second, whatever the server does; 0: as the clients come to them", \
	       &web_order.rate, 0, 10000000),                                                 \
		NUMBER("poisson", "1: at random moments of that rate", &web_order.poisson, 0, 1)

/* What connections a load needed, and how it waited beside its quantiles. */
struct result;
struct web_waits {
	uint64_t connections; /* per 1,000 requests */
	uint64_t connecting_ns, longest_ns;
	uint64_t silent; /* per mille of that span */
};
struct web_waits web_waits_of(const struct result *found, uint64_t span_ns);

/* The first of these metrics' functions ends with web_report_waits; `per` as in REPORTS_PER. */
int web_report_waits(struct web_waits waits);
int web_report_connections(uint64_t operations); /* of web_fetch */
int web_report_connecting(uint64_t operations);
int web_report_longest(uint64_t operations);
int web_report_silent(uint64_t operations);
#define WEB_FIGURE(name, function, unit_) \
	{ .metric = (name), .run = (function), .reported = &reported_ns, .unit = (unit_) }
#define WEB_REPORTS(first, per)                                             \
	WEB_FIGURE("connections", first, "connections per 1,000 requests"), \
		REPORT_PER("connecting", web_report_connecting, per),       \
		REPORT_PER("longest_wait", web_report_longest, per),        \
		WEB_FIGURE("silent", web_report_silent,                     \
	                   "per mille of the time without any answer")

/* What a load of this group's own needs: the server's address and the document's path, and what to
 * return after requests that may have failed. */
struct options;
void web_options(struct options *options, const char *path);
int web_outcome(const struct result *found, uint64_t asked);
/* The same of what the load generator lacked, alone. */
int web_own_limit(const struct result *found);

/* Lets this process have that many connections. Where none is kept there may never be as many at
 * once, and what is lacked is counted. Returns an outcome. */
int web_allow_files(uint64_t connections);

/* Starts the server with the document, which the caller frees; or fetches the one that a running
 * server has. */
struct reference;
int web_serve(struct reference *page);
/* Begins a record "load" of what came of a window so long; the caller closes it. */
struct load_time;
void web_tell_load(uint64_t copy, uint64_t window_ns, const struct reference *page,
                   const struct result *found, const struct load_time *time);

int web_setup(void);
void web_teardown(void);
/* Before and as a batch of `operations`, each of `requests` requests. */
int web_before(uint64_t operations);
int web_fetch(uint64_t operations, uint64_t requests);

#endif
