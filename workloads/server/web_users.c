/* web_users -- a real web server visited by users as the SURGE model has them.
 *
 * Measures     a web server under the load of `user_equivalents` users. Each asks for an object (a
 *              file and those embedded in it), pauses, and asks for the next one. Sizes,
 *              popularity, order and pauses have the distributions that Barford and Crovella found.
 *              The metric "time" is the time of all files by their number: its inverse is the
 *              throughput. "offered" is what it would be if the server took no time: where "time"
 *              is larger, the server holds its users up. "latency_mean" is of single files; the
 *              other latencies are of objects, while files of them were under way. "server" is the
 *              processor time of all the server's processes a file, "client" that of the load
 *              generator. "connections" (most of them a session's), "connecting", "longest_wait"
 *              and "silent" are as in web_requests.
 * Leaves out   the network between machines, the disk (the files are in memory once they are
 *              written) and encryption, as web_requests does.
 * Beware       `off_permille` scales the pauses: at 1000 a user asks for an object in 3 s, and it
 *              takes tens of thousands of users to fill a server of today. Pauses have no finite
 *              variance, so batches must hold thousands of files: batch_ns=500000000. The file set
 *              is one of a seed, and the sequence of references starts again when it is over. All
 *              answers' lengths are checked and 1 body in 100 to its last byte; one file that
 *              fails, fails the trial.
 * After        SURGE (Barford and Crovella, SIGMETRICS 1998), from the published model; Kretschek
 *              and others (2003), section 4.
 */
#include <errno.h>
#include <stdlib.h>

#include "web_files.h"

enum { WARM_EACH = 2, WARM_LEAST = 200 };

static uint64_t user_equivalents = 100;

static struct {
	struct options options;
	struct users   users;
	struct result *found;
	struct crowd  *crowd;
} s;

static int perform(uint64_t files)
{
	int error = users_perform(s.crowd, files);

	if (error) {
		errno = error;
		return fail("the load");
	}
	return web_outcome(s.found, files);
}

static int setup(void)
{
	uint64_t warm = user_equivalents * WARM_EACH;
	int      outcome = web_files_serve(user_equivalents, &s.options, &s.users);

	if (outcome)
		return outcome;
	s.found = calloc(1, sizeof(*s.found));
	s.crowd = s.found ? users_open(&s.options, &s.users, s.found) : NULL;
	if (!s.crowd)
		return fail("making the users");
	reports_begin(&s.found->object);
	return perform(warm > WARM_LEAST ? warm : WARM_LEAST);
}

static int before(uint64_t operations)
{
	if (reports_before(operations)) {
		s.found->latency_ns = s.found->requests = 0;
		s.found->waits = (struct waits){ 0 };
		s.found->latency = (struct histogram){ 0 };
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = perform(operations);

	reports_after(operations);
	return outcome;
}

static void teardown(void)
{
	users_close(s.crowd);
	web_files_end();
	free(s.found);
}

static int report_offered(uint64_t operations)
{
	const struct surge *surge = s.users.surge;
	double              files = users_offered(&s.users, s.options.clients) * surge->references /
	                            surge->objects;

	(void)operations;
	return report_ns(1e9 / files);
}

static int report_latency_mean(uint64_t operations)
{
	(void)operations;
	return report_ns((double)s.found->latency_ns / (double)s.found->requests);
}

static int report_connections(uint64_t operations)
{
	(void)operations;
	return web_report_waits(web_waits_of(s.found, s.found->waits.span_ns));
}

static const struct phase phases[] = {
	{ .metric = "time", .run = run },
	REPORT("offered", report_offered),
	REPORT("latency_mean", report_latency_mean),
	REPORT("server", report_server),
	REPORT("client", report_client),
	REPORT_PER("latency_50", report_latency_50, "object"),
	REPORT_PER("latency_90", report_latency_90, "object"),
	REPORT_PER("latency_99", report_latency_99, "object"),
	REPORT_PER("latency_99_9", report_latency_99_9, "object"),
	WEB_REPORTS(report_connections, NULL),
	{ 0 },
};

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	WEB_USERS_PARAMETERS(&user_equivalents, 1),
	NUMBER("connection",
	       "0: kept for a session; 1: a new one for each file; 2: the same, by HTTP/1.0",
	       &web_order.connection, 0, 2),
	NUMBER("timeout_ms", "after which a file has failed", &web_order.timeout_ms, 1, 600000),
	{ 0 },
};

const struct workload workload_web_users = {
	.name = "web_users",
	.group = "server",
	.summary = "a web server visited by users as the SURGE model has them",
	.operation = "file",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = teardown,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
