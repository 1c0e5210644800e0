/* main.c -- steelyard-client: loads an HTTP server, and writes what it saw as records.
 *
 *     steelyard-client address=127.0.0.1 port=8080 host=localhost path=/ clients=64 window_ms=5000
 *
 * --help lists the words, docs/explanation/servers.md the records.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../base/record.h"
#include "../base/files.h"
#include "../loadgen/surge/describe.h"
#include "main_words.h"
#include "main_records.h"

struct task {
	const struct options   *options;
	const struct reference *reference;
	const struct users     *users; /* or NULL */
	unsigned                first, count;
	uint64_t                began;
	struct result          *result;
};

/* A descriptor a connection; of users that keep none, as many as there may be. Returns 0, or 1 with
 * the sentence said. */
static int raise_limit(unsigned clients, unsigned parallel, int is_kept)
{
	uint64_t needed = (uint64_t)clients * parallel, most = files_take(needed);

	if (most >= needed || !is_kept)
		return 0;
	fprintf(stderr,
	        "steelyard-client: clients=%u need %llu open files, and the limit is %llu: raise it "
	        "(ulimit -n), or ask for fewer clients\n",
	        clients, (unsigned long long)(needed + FILES_BESIDES),
	        (unsigned long long)(most + FILES_BESIDES));
	return 1;
}

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
	histogram_merge(&all->object, &one->object);
	all->objects += one->objects;
	all->objects_begun += one->objects_begun;
	all->objects_failed += one->objects_failed;
	all->objects_lost += one->objects_lost;
	if (all->sequence_permille < one->sequence_permille)
		all->sequence_permille = one->sequence_permille;
	for (int i = 0; i < SECONDS_MOST; i++) {
		all->seconds[i].answers += one->seconds[i].answers;
		all->seconds[i].bytes += one->seconds[i].bytes;
		all->seconds[i].failures += one->seconds[i].failures;
	}
	if (!all->broken)
		all->broken = one->broken;
}

static int run(const struct options *options, const struct reference *reference,
               const struct users *users)
{
	struct result   *results = calloc(options->threads + 1, sizeof(*results));
	struct result   *all;
	struct options   shared = *options;
	_Atomic uint64_t answered;
	struct task      tasks[THREADS_MOST];
	pthread_t        threads[THREADS_MOST];
	unsigned         begun = 0;
	uint64_t         began, elapsed;
	double           busy_most = 0;

	if (!results) {
		perror("steelyard-client");
		return 1;
	}
	all = &results[options->threads];
	began = clock_ns();
	atomic_init(&answered, began);
	shared.answered = options->threads > 1 ? &answered : NULL;
	for (; begun < options->threads; begun++) {
		unsigned first = (unsigned)((uint64_t)options->clients * begun / options->threads);
		unsigned end = (unsigned)((uint64_t)options->clients * (begun + 1) /
		                          options->threads);

		tasks[begun] = (struct task){ &shared,     reference, users,          first,
			                      end - first, began,     &results[begun] };
		errno = pthread_create(&threads[begun], NULL, run_task, &tasks[begun]);
		if (errno) {
			perror("steelyard-client: the load generator's own limit: a thread cannot be started");
			all->broken = errno;
			break;
		}
	}
	for (unsigned i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	elapsed = clock_ns() - began;
	for (unsigned i = 0; i < begun; i++) {
		double busy = (double)(results[i].user_ns + results[i].system_ns) / (double)elapsed;

		busy_most = fmax(busy_most, busy);
		add(all, &results[i]);
	}
	if (all->broken)
		fprintf(stderr,
		        "steelyard-client: the load generator's own limit: the load ended early: %s\n",
		        strerror(all->broken));
	else
		write_load(options, reference, users, all, elapsed, busy_most);
	busy_most = all->broken;
	free(results);
	return busy_most != 0;
}

/* Returns 0, or 1 with the sentence said. */
static int fetch(const struct options *options, struct reference *reference)
{
	char why[256];

	if (!reference_fetch(options, reference, why, sizeof(why)))
		return 0;
	fprintf(stderr, "steelyard-client: %s: %s\n", options->path, why);
	return 1;
}

static int run_clients(const struct options *options)
{
	struct reference reference;
	int              status = fetch(options, &reference) || run(options, &reference, NULL);

	free(reference.body);
	return status;
}

/* Whether the server serves these very files: it must have their digest. */
static int is_served(const struct options *options, const struct surge *surge)
{
	struct options   of_digest = *options;
	struct reference reference;
	char             path[REQUEST_MOST];
	int              prefix = (int)(strrchr(options->path, '/') + 1 - options->path), is_same;

	snprintf(path, sizeof(path), "%.*s%s", prefix, options->path, CONTENT_DIGEST);
	of_digest.path = path;
	if (fetch(&of_digest, &reference)) {
		free(reference.body);
		return 0;
	}
	is_same = reference.length == strlen(surge->digest) &&
	          memcmp(reference.body, surge->digest, reference.length) == 0;
	if (!is_same)
		fprintf(stderr,
		        "steelyard-client: the server serves another file set than this: at %s stands "
		        "another digest than %s (content=DIRECTORY writes the files)\n",
		        path, surge->digest);
	free(reference.body);
	return is_same;
}

static int run_surge(const struct options *options, struct asked_model *model)
{
	struct surge     surge;
	struct content   content = { NULL };
	struct reference reference = { NULL, 0, 1 }; /* each file has its own; all are checked */
	int              failed = 1;

	if (surge_make(&surge, &model->shape) || content_make(&content, &surge)) {
		perror("steelyard-client: the file set cannot be made");
	} else if (model->content && content_write(&content, &surge, model->content)) {
		fprintf(stderr, "steelyard-client: content=%s: the files cannot be written: %s\n",
		        model->content, strerror(errno));
	} else {
		model->users.surge = &surge;
		model->users.content = &content;
		failed = model->describe
		                 ? describe_all(&model->users, options->seed, model->describe) != 0
		                 : !is_served(options, &surge) ||
		                           run(options, &reference, &model->users);
	}
	content_free(&content);
	surge_free(&surge);
	return failed;
}

int main(int argc, char **argv)
{
	struct options     options = { 0 };
	struct asked_model model = { 0 };
	int                status = words_read(argc - 1, argv + 1, &options, &model);

	signal(SIGPIPE, SIG_IGN);
	/* Who started it wants the answer: a laboratory that was killed leaves no load behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (status)
		return status == WORDS_HELP ? 0 : status;
	if ((status = raise_limit(options.clients, model.is_surge ? model.users.parallel : 1,
	                          !model.is_surge || options.connection == CONNECTION_KEEP)))
		return status;
	status = model.is_surge ? run_surge(&options, &model) : run_clients(&options);
	if (record_error()) {
		fprintf(stderr, "steelyard-client: the records cannot be written: %s\n",
		        strerror(record_error()));
		status = 1;
	}
	return status;
}
