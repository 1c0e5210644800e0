/* main.c -- steelyard-client: loads an HTTP server, and writes what it saw as records.
 *
 *     steelyard-client address=127.0.0.1 port=8080 host=localhost path=/ clients=64 window_ms=5000
 *
 * --help lists the words, docs/explanation/servers.md the records.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../base/record.h"
#include "../base/files.h"
#include "../loadgen/load.h"
#include "../loadgen/surge/describe.h"
#include "main_words.h"
#include "main_records.h"

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

static int run(const struct options *options, const struct reference *reference,
               const struct users *users)
{
	struct result   *all = calloc(1, sizeof(*all));
	struct load_time time;
	int              error;

	if (!all) {
		perror("steelyard-client");
		return 1;
	}
	error = load_run(options, reference, users, all, &time);
	if (error)
		fprintf(stderr,
		        "steelyard-client: the load generator's own limit: the load ended early: %s\n",
		        strerror(error));
	else
		write_load(options, reference, users, all, time.elapsed_ns,
		           (double)time.busiest_ns / (double)time.elapsed_ns);
	free(all);
	return error != 0;
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
