/* team.c -- see team.h. */
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

uint64_t team_members = 1;

static struct {
	int (*perform)(unsigned member, uint64_t number);
	pthread_t       threads[LANES_MOST];
	unsigned        started;
	pthread_mutex_t lock;
	pthread_cond_t  asked, done;
	uint64_t        generation, next, beyond;
	unsigned        busy;
	int             is_ending, outcome;
	char            why[512];
} s = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static int work(unsigned member)
{
	int outcome = 0;

	while (!outcome) {
		uint64_t number = __atomic_fetch_add(&s.next, 1, __ATOMIC_RELAXED), began;

		if (number >= s.beyond)
			return 0;
		began = lane_began(&meter_lanes[member]);
		outcome = s.perform(member, number);
		lane_ended(&meter_lanes[member], began);
	}
	return outcome;
}

/* The first to fail says why, and all others stop. */
static void note(int outcome)
{
	if (!outcome || s.outcome)
		return;
	s.outcome = outcome;
	memcpy(s.why, outcome_why(), strlen(outcome_why()) + 1);
	__atomic_store_n(&s.next, s.beyond, __ATOMIC_RELAXED);
}

static void *live(void *argument)
{
	unsigned member = (unsigned)(uintptr_t)argument;
	uint64_t generation = 0;

	pthread_mutex_lock(&s.lock);
	for (;;) {
		int outcome;

		while (s.generation == generation && !s.is_ending)
			pthread_cond_wait(&s.asked, &s.lock);
		if (s.is_ending)
			break;
		generation = s.generation;
		pthread_mutex_unlock(&s.lock);
		outcome = work(member);
		pthread_mutex_lock(&s.lock);
		note(outcome);
		if (!--s.busy)
			pthread_cond_signal(&s.done);
	}
	pthread_mutex_unlock(&s.lock);
	return NULL;
}

int team_start(int (*perform)(unsigned member, uint64_t number))
{
	s.perform = perform;
	for (; team_members > 1 && s.started < team_members; s.started++) {
		errno = pthread_create(&s.threads[s.started], NULL, live,
		                       (void *)(uintptr_t)s.started);
		if (errno)
			return fail("pthread_create");
	}
	return 0;
}

int team_run(uint64_t operations)
{
	if (!s.started) {
		s.next = 0;
		s.beyond = operations;
		return work(0);
	}
	pthread_mutex_lock(&s.lock);
	s.next = 0;
	s.beyond = operations;
	s.busy = s.started;
	s.generation++;
	pthread_cond_broadcast(&s.asked);
	while (s.busy)
		pthread_cond_wait(&s.done, &s.lock);
	pthread_mutex_unlock(&s.lock);
	if (!s.outcome)
		return 0;
	return s.outcome == OUTCOME_UNSUPPORTED ? unsupported("%s", s.why)
	                                        : fail_check("%s", s.why);
}

void team_end(void)
{
	pthread_mutex_lock(&s.lock);
	s.is_ending = 1;
	pthread_cond_broadcast(&s.asked);
	pthread_mutex_unlock(&s.lock);
	while (s.started)
		pthread_join(s.threads[--s.started], NULL);
}
