/* load.c -- see load.h. */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct task {
	const struct options   *options;
	const struct reference *reference;
	const struct users     *users; /* or NULL */
	unsigned                first, count;
	uint64_t                began;
	struct result          *result;
};

static void *run_task(void *argument)
{
	const struct task *task = argument;

	if (task->users)
		users_run(task->options, task->users, task->first, task->count, task->began,
		          task->result);
	else
		loop_run(task->options, task->reference, task->first, task->count, task->began,
		         task->result);
	return NULL;
}

static void add_waits(struct waits *all, const struct waits *one)
{
	if (all->longest_ns < one->longest_ns)
		all->longest_ns = one->longest_ns;
	histogram_merge(&all->silences, &one->silences);
	all->tally.connections += one->tally.connections;
	all->tally.connecting_ns += one->tally.connecting_ns;
	all->tally.closed += one->tally.closed;
	all->tally.resent += one->tally.resent;
	if (all->tally.stalled_ns < one->tally.stalled_ns)
		all->tally.stalled_ns = one->tally.stalled_ns; /* they may be one and the same */
}

static void add_objects(struct result *all, const struct result *one)
{
	histogram_merge(&all->object, &one->object);
	all->objects += one->objects;
	all->objects_begun += one->objects_begun;
	all->objects_failed += one->objects_failed;
	all->objects_lost += one->objects_lost;
	if (all->sequence_permille < one->sequence_permille)
		all->sequence_permille = one->sequence_permille;
}

static void add(struct result *all, const struct result *one)
{
	all->answers += one->answers;
	all->bytes += one->bytes;
	all->verified += one->verified;
	all->requests += one->requests;
	all->started += one->started;
	all->unsent += one->unsent;
	all->waited += one->waited;
	all->user_ns += one->user_ns;
	all->system_ns += one->system_ns;
	add_waits(&all->waits, &one->waits);
	for (int i = 0; i < FAILURES; i++)
		all->failures[i] += one->failures[i];
	for (int i = 0; i < OWN_LIMITS; i++)
		all->lacked[i] += one->lacked[i];
	if (!all->malformed)
		all->malformed = one->malformed;
	histogram_merge(&all->latency, &one->latency);
	histogram_merge(&all->intended, &one->intended);
	histogram_merge(&all->lag, &one->lag);
	add_objects(all, one);
	for (int i = 0; i < SECONDS_MOST; i++) {
		all->seconds[i].answers += one->seconds[i].answers;
		all->seconds[i].bytes += one->seconds[i].bytes;
		all->seconds[i].failures += one->seconds[i].failures;
	}
	if (!all->broken)
		all->broken = one->broken;
}

/* The clients of that loop of options->threads are those from this one on, to the next loop's. */
static unsigned first_of(const struct options *options, unsigned loop)
{
	return (unsigned)((uint64_t)options->clients * loop / options->threads);
}

int load_run(const struct options *options, const struct reference *reference,
             const struct users *users, struct result *all, struct load_time *time)
{
	struct result   *results = calloc(options->threads, sizeof(*results));
	struct options   shared = *options;
	_Atomic uint64_t answered;
	struct task      tasks[THREADS_MOST];
	pthread_t        threads[THREADS_MOST];
	unsigned         begun = 0;
	uint64_t         began = clock_ns();
	int              error = results ? 0 : ENOMEM;

	atomic_init(&answered, began);
	shared.answered = options->threads > 1 ? &answered : NULL;
	for (; begun < options->threads && !error; begun += !error) {
		unsigned first = first_of(options, begun);

		tasks[begun] = (struct task){
			&shared, reference,      users, first, first_of(options, begun + 1) - first,
			began,   &results[begun]
		};
		error = pthread_create(&threads[begun], NULL, run_task, &tasks[begun]);
	}
	for (unsigned i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	*time = (struct load_time){ .elapsed_ns = clock_ns() - began };
	for (unsigned i = 0; i < begun; i++) {
		uint64_t busy_ns = results[i].user_ns + results[i].system_ns;

		if (time->busiest_ns < busy_ns)
			time->busiest_ns = busy_ns;
		add(all, &results[i]);
	}
	free(results);
	return error ? error : all->broken;
}
