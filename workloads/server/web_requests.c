/* web_requests -- a document fetched from a real web server by many clients at once.
 *
 * Measures     a web server under load. The trial starts the server that is named (nginx, Apache,
 *              or one of one's own), which serves one file of `size` bytes; `clients` clients each
 *              ask for it again as soon as they have it. The metric "time" is the time of all
 *              requests by their number: its inverse is the throughput. The latencies are of single
 *              requests: the median, and what 90, 99 and 99.9 of 100 do not exceed. "server" is the
 *              processor time of all the server's processes a request, "client" that of the load
 *              generator. "connections" are those opened, "connecting" the time in which that was
 *              done, "longest_wait" is the longest time of a request, and "silent" the share of the
 *              time in which requests waited and none was answered. With `rate`, that many requests
 *              are sent a second, whatever the server does, and latencies count from the moment at
 *              which each was to be sent.
 * Leaves out   the network between machines: client and server share a loopback interface and the
 *              processors. The disk: the file is in memory after the first request. Encryption.
 * Beware       the client takes processor time of the same machine: where its time a request comes
 *              near "time", the client is what limits. A batch ends when its last request does, so
 *              batches must be long against a request: batch_ns=100000000. The server's processor
 *              time has the resolution of the system's own account, which is 10 ms inside gVisor.
 *              All answers' lengths are checked, and 1 body in 100 to its last byte; one request
 *              that fails, fails the trial.
 * After        Gonçalves (IME-USP, 2001), sections 5.4 and 6.4; Glozer's wrk.
 */
#include "web.h"

static int run(uint64_t operations)
{
	return web_fetch(operations, 1);
}

static const struct phase phases[] = { { .metric = "time", .run = run },
	                               REPORTS(report_server),
	                               WEB_REPORTS(web_report_connections, NULL),
	                               { 0 } };

static const struct parameter parameters[] = {
	WEB_PARAMETERS(WEB_CLIENTS_MOST),
	WEB_RATE_PARAMETERS,
	{ 0 },
};

const struct workload workload_web_requests = {
	.name = "web_requests",
	.group = "server",
	.summary = "a document fetched from a web server by many clients at once",
	.operation = "request",
	.setup = web_setup,
	.before = web_before,
	.at_once = &web_order.clients,
	.phases = phases,
	.teardown = web_teardown,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
