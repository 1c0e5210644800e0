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

#define WEB_PARAMETERS                                                                             \
	SERVER_PARAMETER,                                                                          \
		NUMBER("size", "bytes in the document", &web_order.size, 1, WEB_SIZE_MOST),        \
		NUMBER("clients",                                                                  \
	               "clients, each of which waits for an answer before the next request",       \
	               &web_order.clients, 1, WEB_CLIENTS_MOST),                                   \
		NUMBER("connection", "0: kept; 1: a new one each time; 2: the same, by HTTP/1.0",  \
	               &web_order.connection, 0, 2),                                               \
		NUMBER("timeout_ms", "after which a request has failed", &web_order.timeout_ms, 1, \
	               600000)

/* What a load of this group's own needs: the server's address and the document's path, and what to
 * return after requests that may have failed. */
struct options;
struct result;
void web_options(struct options *options, const char *path);
int web_outcome(const struct result *found, uint64_t asked);
/* The same of what the load generator lacked, alone. */
int web_own_limit(const struct result *found);

/* Starts the server with the document, which the caller frees; or fetches the one that a running
 * server has. */
struct reference;
int web_serve(struct reference *page);

int web_setup(void);
void web_teardown(void);
/* Before and as a batch of so many operations, each of so many requests. */
int web_before(uint64_t operations);
int web_fetch(uint64_t operations, uint64_t requests);

#endif
