/* web_series -- a number of requests to a real web server, as one performance.
 *
 * Measures     how long `requests` requests take together: as web_requests, but the operation is
 *              the whole series, so that its time can be held against its length.
 * Leaves out   what web_requests leaves out.
 * Beware       what is written there. The server's and the client's processor time and the
 *              latencies are of single requests.
 * After        Gonçalves (IME-USP, 2001), section 6.4: 1,000 to 10,000 requests, table 6.2.
 */
#include "web.h"

static uint64_t requests = 1000;

static int run(uint64_t operations)
{
	return web_fetch(operations, requests);
}

static const struct phase phases[] = {
	{ .metric = "time", .run = run },
	REPORTS_PER(report_server, "request"),
	WEB_REPORTS(web_report_connections, "request"),
	{ 0 },
};

static const struct parameter parameters[] = {
	WEB_PARAMETERS(WEB_CLIENTS_MOST),
	NUMBER("requests", "that all clients together make in one performance", &requests, 1,
	       1000000),
	{ 0 },
};

const struct workload workload_web_series = {
	.name = "web_series",
	.group = "server",
	.summary = "a number of requests to a web server",
	.operation = "performance",
	.setup = web_setup,
	.before = web_before,
	.phases = phases,
	.teardown = web_teardown,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
