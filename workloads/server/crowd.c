/* crowd.c -- see crowd.h. */
#include "crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../client/histogram.h"
#include "../api/system.h"
#include "server.h"

enum { LAST_BREATH_US = 300000, STACK_BYTES = 262144 };

uint64_t crowd_clients = 1, crowd_seed = 1, crowd_timeout_ms = 30000;

struct member {
	pthread_t         thread;
	unsigned          number;
	int               is_started;
	struct histogram *latencies; /* KINDS_MOST; the first are of whole operations */
};

static struct {
	const struct crowd *crowd;
	struct member       members[CLIENTS_MOST];
	pthread_mutex_t     lock;
	pthread_cond_t      asked, done;
	uint64_t            generation; /* of batches; the first is the beginning */
	uint64_t            next, beyond; /* numbers of operations */
	unsigned            busy;
	int                 is_ending, outcome;
	char                why[512];
	struct histogram    latencies; /* of all clients' operations, when they are reported */
} s = { .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

uint64_t crowd_random_of(uint64_t number, uint64_t other)
{
	uint64_t state = crowd_seed << 32 ^ other;

	state = random_next(&state) ^ number;
	return random_next(&state);
}

/* ---- A client ---- */

/* The first to fail says why. */
static void note(int outcome)
{
	pthread_mutex_lock(&s.lock);
	if (outcome && !s.outcome) {
		s.outcome = outcome;
		memcpy(s.why, outcome_why(), strlen(outcome_why()) + 1);
		__atomic_store_n(&s.next, s.beyond, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&s.lock);
}

void crowd_part(unsigned client, unsigned kind, uint64_t began_ns)
{
	histogram_add(&s.members[client].latencies[kind], clock_ns() - began_ns);
}

static void perform(struct member *member)
{
	for (;;) {
		uint64_t number = __atomic_fetch_add(&s.next, 1, __ATOMIC_RELAXED), began;
		int      outcome;

		if (number >= s.beyond)
			return;
		began = clock_ns();
		outcome = s.crowd->perform(member->number, number);
		if (outcome) {
			note(outcome);
			return;
		}
		crowd_part(member->number, 0, began);
	}
}

/* Waits for the next batch. Returns 0 where there is none. */
static int is_asked(uint64_t *generation)
{
	int is_ending;

	pthread_mutex_lock(&s.lock);
	if (!--s.busy)
		pthread_cond_signal(&s.done);
	while (s.generation == *generation && !s.is_ending)
		pthread_cond_wait(&s.asked, &s.lock);
	*generation = s.generation;
	is_ending = s.is_ending;
	pthread_mutex_unlock(&s.lock);
	return !is_ending;
}

static void *live(void *argument)
{
	struct member *member = argument;
	uint64_t       generation = 0;

	note(s.crowd->begin(member->number));
	while (is_asked(&generation))
		perform(member);
	s.crowd->end(member->number);
	return NULL;
}

/* ---- All of them ---- */

/* A server that has died says more than its clients. */
static int end_of_wait(void)
{
	int outcome;

	pthread_mutex_lock(&s.lock);
	while (s.busy)
		pthread_cond_wait(&s.done, &s.lock);
	pthread_mutex_unlock(&s.lock);
	if (!s.outcome)
		return 0;
	usleep(LAST_BREATH_US);
	if ((outcome = server_check()))
		return outcome;
	return s.outcome == OUTCOME_UNSUPPORTED ? unsupported("%s", s.why) : fail_check("%s", s.why);
}

static int start_member(struct member *member, const pthread_attr_t *attributes)
{
	member->latencies = calloc(KINDS_MOST, sizeof(*member->latencies));
	if (!member->latencies)
		return fail("calloc");
	pthread_mutex_lock(&s.lock);
	s.busy++;
	pthread_mutex_unlock(&s.lock);
	errno = pthread_create(&member->thread, attributes, live, member);
	member->is_started = !errno;
	if (!errno)
		return 0;
	s.busy--;
	return fail("pthread_create");
}

int crowd_start(const struct crowd *crowd)
{
	pthread_attr_t attributes;
	int            outcome = 0;

	s.crowd = crowd;
	reports_begin(&s.latencies);
	if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK_BYTES))
		return fail("pthread_attr_setstacksize");
	for (unsigned i = 0; i < crowd_clients && !outcome; i++) {
		s.members[i].number = i;
		outcome = start_member(&s.members[i], &attributes);
	}
	pthread_attr_destroy(&attributes);
	return outcome ? outcome : end_of_wait();
}

void crowd_end(void)
{
	pthread_mutex_lock(&s.lock);
	s.is_ending = 1;
	pthread_cond_broadcast(&s.asked);
	pthread_mutex_unlock(&s.lock);
	for (unsigned i = 0; i < crowd_clients; i++) {
		if (s.members[i].is_started)
			pthread_join(s.members[i].thread, NULL);
		free(s.members[i].latencies);
	}
}

int crowd_before(uint64_t operations)
{
	if (reports_before(operations))
		for (unsigned i = 0; i < crowd_clients; i++)
			memset(s.members[i].latencies, 0, KINDS_MOST * sizeof(*s.members[i].latencies));
	return 0;
}

int crowd_run(uint64_t operations)
{
	int outcome;

	pthread_mutex_lock(&s.lock);
	s.next = s.beyond; /* clients that found none left have gone beyond */
	s.beyond += operations;
	s.busy = (unsigned)crowd_clients;
	s.generation++;
	pthread_cond_broadcast(&s.asked);
	pthread_mutex_unlock(&s.lock);
	outcome = end_of_wait();
	reports_after(operations);
	return outcome;
}

/* ---- What is reported ---- */

static const struct histogram *latencies_of(unsigned kind, struct histogram *all)
{
	memset(all, 0, sizeof(*all));
	for (unsigned i = 0; i < crowd_clients; i++)
		histogram_merge(all, &s.members[i].latencies[kind]);
	return all;
}

int crowd_report_server(uint64_t operations)
{
	report_server(operations); /* first, because what checks costs the server time too */
	latencies_of(0, &s.latencies);
	return s.crowd->check ? s.crowd->check(s.beyond) : 0;
}

int crowd_report_part(unsigned kind)
{
	static struct histogram all;

	return report_quantile(latencies_of(kind, &all), 0.5);
}
