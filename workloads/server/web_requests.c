/* web_requests -- documents fetched from a real web server by many clients at once.
 *
 * Measures     a web server under load. The trial starts the server that is named (nginx, Apache, or
 *              one of one's own), which serves one file of `size` bytes; `clients` clients each ask
 *              for it again as soon as they have it. The metric "time" is the time of all requests
 *              by their number: its inverse is the throughput. The latencies are of single requests:
 *              the median, and what 90, 99 and 99.9 of 100 do not exceed. "server" is the processor
 *              time of all the server's processes a request, and "client" that of the load
 *              generator. With rate= requests are sent so many a second, whatever the server does,
 *              and latencies count from the moment at which each was to be sent.
 * Leaves out   the network between machines: client and server share a loopback interface and the
 *              processors. The disk: the file is in memory after the first request. Encryption.
 * Beware       the client takes processor time of the same machine: where "client" times the
 *              throughput comes near one processor, the client is what limits. A batch ends when its
 *              last request does, so batches must be long against a request: batch_ns=100000000. The
 *              server's processor time has the resolution of the system's own account; inside gVisor
 *              that is 10 ms. All answers' lengths are checked and 1 body in 100 to its last byte;
 *              one request that fails, fails the trial.
 * After        Goncalves (IME-USP, 1999), sections 5.4 and 6.4; wrk and its likes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <sys/resource.h>

#include "../../client/client.h"
#include "../api/system.h"
#include "../api/workload.h"
#include "server.h"

enum { BODY_MOST = 16 << 20, CLIENTS_MOST = 10000, WARM_LEAST = 200 };

static uint64_t size = 1024, clients = 1, connection, rate, poisson, timeout_ms = 10000;

static struct {
	struct options   options;
	struct reference reference;
	struct result   *found; /* since batches have their present size */
	struct loop     *loop;
	uint64_t         operations, requests;
	uint64_t         server_ns, server_before_ns, client_ns, client_before_ns;
	int              is_counting; /* a batch has run whose server's time was not added yet */
	uint64_t         reported;
} s;

static int take_options(void)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&s.options.address;

	s.options = (struct options){
		.address_length = sizeof(*address),
		.host       = "localhost",
		.path       = "/page",
		.clients    = (unsigned)clients,
		.threads    = 1,
		.connection = (enum connection)connection,
		.timeout_ns = timeout_ms * 1000000,
		.rate       = (double)rate,
		.arrivals   = poisson ? SPREAD_EXPONENTIAL : SPREAD_CONSTANT,
		.verified   = 0.01,
		.seed       = 1,
	};
	address->sin_family = AF_INET;
	address->sin_port = htons(server_port());
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return 0;
}

static int fill_page(void)
{
	uint32_t state = 2463534242u;

	s.reference = (struct reference){ .body = malloc(size + 1), .length = size, .is_fixed = 1 };
	if (!s.reference.body)
		return fail("malloc");
	for (uint64_t i = 0; i < size; i++)
		s.reference.body[i] = i % 64 == 63 ? '\n' : (unsigned char)('a' + next_number(&state) % 26);
	return server_file("content/page", s.reference.body, size);
}

/* A descriptor for each client, and some besides. */
static int take_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= clients + 64)
		return 0;
	limit.rlim_cur = clients + 64 < limit.rlim_max ? clients + 64 : limit.rlim_max;
	if (limit.rlim_cur < clients + 64)
		return unsupported("%llu clients need as many open files, and this system allows %llu",
		                   (unsigned long long)clients, (unsigned long long)limit.rlim_max);
	return setrlimit(RLIMIT_NOFILE, &limit) ? fail("setrlimit") : 0;
}

static int fail_of_requests(uint64_t requests)
{
	char     kinds[200] = "";
	uint64_t failed = 0;
	int      outcome = server_check();

	for (int i = 0; i < FAILURES; i++) {
		size_t used = strlen(kinds);

		if (s.found->failures[i])
			snprintf(kinds + used, sizeof(kinds) - used, "%s%s %llu", used ? ", " : "",
			         failure_names[i], (unsigned long long)s.found->failures[i]);
		failed += s.found->failures[i];
	}
	if (!failed || outcome)
		return outcome;
	return fail_check("%llu of %llu requests failed: %s", (unsigned long long)failed,
	                  (unsigned long long)requests, kinds);
}

static int perform(uint64_t requests)
{
	int error = loop_perform(s.loop, requests);

	if (error) {
		errno = error;
		return fail("the load");
	}
	return fail_of_requests(requests);
}

static int setup(void)
{
	int outcome;

	if ((outcome = take_descriptors()) || (outcome = server_prepare()) || (outcome = fill_page()) ||
	    (outcome = server_start()) || (outcome = take_options()))
		return outcome;
	s.found = calloc(1, sizeof(*s.found));
	s.loop = s.found ? loop_open(&s.options, &s.reference, s.found) : NULL;
	if (!s.loop)
		return fail("making the clients");
	return perform(clients * 4 > WARM_LEAST && !rate ? clients * 4 : WARM_LEAST);
}

static uint64_t own_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

/* The server's processes are looked through between batches, where it costs nothing that is timed. */
static int before(uint64_t operations)
{
	uint64_t now = server_processor_ns();

	if (s.is_counting)
		s.server_ns += now - s.server_before_ns;
	s.is_counting = 0;
	if (operations != s.operations) {
		s.operations = operations;
		s.requests = s.server_ns = s.client_ns = 0;
		memset(s.found, 0, sizeof(*s.found));
	}
	s.server_before_ns = now;
	s.client_before_ns = own_ns();
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = perform(operations);

	s.client_ns += own_ns() - s.client_before_ns;
	s.requests += operations;
	s.is_counting = 1;
	return outcome;
}

/* ---- What is reported when the batches are over ---- */

static int report(double value_ns)
{
	s.reported = value_ns < 1 ? 1 : (uint64_t)(value_ns + 0.5);
	return 0;
}

static int report_latency(double share)
{
	uint64_t total = 0, below = 0;
	unsigned bucket = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += s.found->intended.counts[i];
	for (; bucket < HISTOGRAM_BUCKETS - 1; bucket++) {
		below += s.found->intended.counts[bucket];
		if ((double)below >= share * (double)total)
			break;
	}
	return report((double)histogram_value(bucket));
}

static int report_median(uint64_t operations)
{
	(void)operations;
	return report_latency(0.5);
}

static int report_90(uint64_t operations)
{
	(void)operations;
	return report_latency(0.9);
}

static int report_99(uint64_t operations)
{
	(void)operations;
	return report_latency(0.99);
}

static int report_999(uint64_t operations)
{
	(void)operations;
	return report_latency(0.999);
}

static int report_server(uint64_t operations)
{
	(void)operations;
	if (s.is_counting)
		s.server_ns += server_processor_ns() - s.server_before_ns;
	s.is_counting = 0;
	return report((double)s.server_ns / (double)s.requests);
}

static int report_client(uint64_t operations)
{
	(void)operations;
	return report((double)s.client_ns / (double)s.requests);
}

static void teardown(void)
{
	loop_close(s.loop);
	server_end();
	free(s.reference.body);
	free(s.found);
}

static const struct phase phases[] = {
	{ .metric = "time", .run = run },
	{ .metric = "server", .run = report_server, .reported = &s.reported },
	{ .metric = "client", .run = report_client, .reported = &s.reported },
	{ .metric = "latency_50", .run = report_median, .reported = &s.reported },
	{ .metric = "latency_90", .run = report_90, .reported = &s.reported },
	{ .metric = "latency_99", .run = report_99, .reported = &s.reported },
	{ .metric = "latency_99_9", .run = report_999, .reported = &s.reported },
	{ 0 },
};

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	NUMBER("size", "bytes in the document", &size, 1, BODY_MOST),
	NUMBER("clients", "that each wait for an answer before they ask again", &clients, 1, CLIENTS_MOST),
	NUMBER("connection", "0: kept; 1: a new one each time; 2: the same, by HTTP/1.0", &connection, 0, 2),
	NUMBER("rate", "requests a second, whatever the server does; 0: as the clients come to them", &rate, 0,
	       10000000),
	NUMBER("poisson", "1: at random moments of that rate", &poisson, 0, 1),
	NUMBER("timeout_ms", "after which a request has failed", &timeout_ms, 1, 600000),
	{ 0 },
};

const struct workload workload_web_requests = {
	.name       = "web_requests",
	.group      = "server",
	.summary    = "documents fetched from a web server by many clients at once",
	.operation  = "request",
	.setup      = setup,
	.before     = before,
	.phases     = phases,
	.teardown   = teardown,
	.parameters = parameters,
};
