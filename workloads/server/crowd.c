/* crowd.c -- see crowd.h. */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/histogram.h"
#include "../api/system.h"
#include "../api/team.h"
#include "server.h"

uint64_t crowd_clients = 1, crowd_seed = 1, crowd_timeout_ms = 30000;

static struct {
	const struct crowd *crowd;
	struct histogram   *latencies[CLIENTS_MOST]; /* KINDS_MOST; the first are of whole
	                                                operations */
	uint64_t         done;                       /* operations */
	int              is_begun;
	struct histogram all; /* of all clients' operations, when they are reported */
} s;

uint64_t crowd_random_of(uint64_t number, uint64_t other)
{
	uint64_t state = crowd_seed << 32 ^ other;

	state = random_next(&state) ^ number;
	return random_next(&state);
}

/* ---- A client ---- */

void crowd_part(unsigned client, unsigned kind, uint64_t began_ns)
{
	histogram_add(&s.latencies[client][kind], clock_ns() - began_ns);
}

static int begin(unsigned client)
{
	return s.crowd->begin(client);
}

static int perform(unsigned client)
{
	uint64_t number;
	int      outcome = 0;

	while (!outcome && (number = team_take()) != TEAM_NONE) {
		uint64_t began = clock_ns();

		outcome = s.crowd->perform(client, s.done + number);
		if (!outcome)
			crowd_part(client, 0, began);
	}
	return outcome;
}

static int end(unsigned client)
{
	s.crowd->end(client);
	return 0;
}

/* ---- All of them ---- */

static int run_by(int (*work)(unsigned client), uint64_t operations)
{
	return server_explain(team_run(work, operations));
}

int crowd_start(const struct crowd *crowd)
{
	int outcome;

	s.crowd = crowd;
	reports_begin(&s.all);
	for (unsigned i = 0; i < crowd_clients; i++) {
		s.latencies[i] = calloc(KINDS_MOST, sizeof(struct histogram));
		if (!s.latencies[i])
			return fail("calloc");
	}
	if ((outcome = team_start((unsigned)crowd_clients, NULL)))
		return outcome;
	s.is_begun = 1;
	return run_by(begin, 0);
}

void crowd_end(void)
{
	if (s.is_begun)
		team_run(end, 0);
	team_end();
	for (unsigned i = 0; i < crowd_clients; i++)
		free(s.latencies[i]);
}

int crowd_before(uint64_t operations)
{
	if (reports_before(operations))
		for (unsigned i = 0; i < crowd_clients; i++)
			memset(s.latencies[i], 0, KINDS_MOST * sizeof(struct histogram));
	return 0;
}

int crowd_run(uint64_t operations)
{
	int outcome = run_by(perform, operations);

	s.done += operations;
	reports_after(operations);
	return outcome;
}

/* ---- What is reported ---- */

static const struct histogram *latencies_of(unsigned kind, struct histogram *all)
{
	memset(all, 0, sizeof(*all));
	for (unsigned i = 0; i < crowd_clients; i++)
		histogram_merge(all, &s.latencies[i][kind]);
	return all;
}

int crowd_report_server(uint64_t operations)
{
	int outcome;

	report_server(operations); /* first, because what checks costs the server time too */
	latencies_of(0, &s.all);
	if (s.crowd->check && (outcome = s.crowd->check(s.done)))
		return server_explain(outcome);
	return server_check(); /* whoever it was that answered */
}

int crowd_report_part(unsigned kind)
{
	static struct histogram all;

	return report_quantile(latencies_of(kind, &all), 0.5);
}
