/* team.c -- see workloads/api/team.h. */
#include "../../workloads/api/team.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../../workloads/api/workload.h"

enum { STACK_BYTES = 262144, WHY_MOST = 512 };

static struct {
	pthread_t       threads[TEAM_MOST];
	unsigned        started, busy;
	pthread_mutex_t lock;
	pthread_cond_t  asked, done;
	uint64_t        generation; /* of batches */
	uint64_t        next, beyond;
	int (*work)(unsigned member);
	void (*failed)(void);
	int  is_ending, outcome;
	char why[WHY_MOST];
} s = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER };

uint64_t team_take(void)
{
	uint64_t number = __atomic_fetch_add(&s.next, 1, __ATOMIC_RELAXED);

	return number < s.beyond ? number : TEAM_NONE;
}

/* Under the lock. The first to fail says why. */
static void note(int outcome)
{
	if (outcome && !s.outcome) {
		s.outcome = outcome;
		memcpy(s.why, outcome_why(), strlen(outcome_why()) + 1);
		__atomic_store_n(&s.next, s.beyond, __ATOMIC_RELAXED);
		if (s.failed)
			s.failed();
	}
	if (!--s.busy)
		pthread_cond_signal(&s.done);
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
		outcome = s.work(member);
		pthread_mutex_lock(&s.lock);
		note(outcome);
	}
	pthread_mutex_unlock(&s.lock);
	return NULL;
}

int team_start(unsigned count, void (*failed)(void))
{
	pthread_attr_t attributes;
	int            error = 0;

	s.failed = failed;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	while (s.started < count && !error) {
		error = pthread_create(&s.threads[s.started], &attributes, live,
		                       (void *)(uintptr_t)s.started);
		s.started += !error;
	}
	pthread_attr_destroy(&attributes);
	errno = error;
	return error ? fail("pthread_create") : 0;
}

int team_run(int (*work)(unsigned member), uint64_t operations)
{
	s.next = 0;
	s.beyond = operations;
	s.outcome = 0;
	if (!s.started)
		return work(0);
	pthread_mutex_lock(&s.lock);
	s.work = work;
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
	s.generation = 0;
	s.is_ending = 0;
}
