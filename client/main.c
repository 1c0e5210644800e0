/* main.c -- steelyard-client: loads an HTTP server, and writes what it saw as records.
 *
 *     steelyard-client address=127.0.0.1 port=8080 host=localhost path=/ clients=64 window_ms=5000
 *
 * Words are name=value; docs/servers.md lists them and the records. Status 0 done, 1 the server or
 * this machine failed, 2 a word that cannot be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/api/workload.h"
#include "../workloads/api/record.h"
#include "client.h"
#include "surge/describe.h"

enum { CLIENTS_MOST = 1000000, THREADS_MOST = 64, MS_NS = 1000000 };

struct words {
	const char *address, *host, *path, *connection, *think, *arrivals, *allow, *model, *content;
	uint64_t    port, clients, threads, warmup_ms, window_ms, timeout_ms, think_us, rate_millihertz;
	uint64_t    verified_permille, seed;
	uint64_t    parallel, off_permille, pauses_within, session, describe;
	struct shape shape;
};

/* SURGE's, if that is the model. */
struct asked_model {
	int          is_surge;
	struct shape shape;
	struct users users;
	const char  *content;  /* the directory into which the files are to be written; or NULL */
	uint64_t     describe; /* draws; 0: load the server */
};

struct text_word {
	const char  *name;
	const char **value;
};

struct number_word {
	const char *name;
	uint64_t   *value, least, most;
};

struct task {
	const struct options   *options;
	const struct reference *reference;
	const struct users     *users; /* or NULL */
	unsigned                first, count;
	uint64_t                began;
	struct result          *result;
};

static int refuse(const char *sentence, const char *value)
{
	fprintf(stderr, "steelyard-client: ");
	fprintf(stderr, sentence, value); /* a format of ours, with one %s */
	fprintf(stderr, "\n");
	return 2;
}

static int read_word(struct words *words, const char *word)
{
	const struct text_word texts[] = {
		{"address", &words->address}, {"host", &words->host},   {"path", &words->path},
		{"connection", &words->connection}, {"think", &words->think}, {"arrivals", &words->arrivals},
		{"allow", &words->allow}, {"model", &words->model}, {"content", &words->content},
	};
	const struct number_word numbers[] = {
		{"port", &words->port, 1, 65535},
		{"clients", &words->clients, 1, CLIENTS_MOST},
		{"threads", &words->threads, 1, THREADS_MOST},
		{"warmup_ms", &words->warmup_ms, 0, 600000},
		{"window_ms", &words->window_ms, 1, 1000ull * SECONDS_MOST},
		{"timeout_ms", &words->timeout_ms, 1, 600000},
		{"think_us", &words->think_us, 0, 600000000},
		{"rate_millihertz", &words->rate_millihertz, 0, 10000000000ull},
		{"verified_permille", &words->verified_permille, 0, 1000},
		{"seed", &words->seed, 0, UINT64_MAX},
		{"parallel", &words->parallel, 1, PARALLEL_MOST},
		{"off_permille", &words->off_permille, 0, 1000000},
		{"pauses_within", &words->pauses_within, 0, 1},
		{"session", &words->session, 1, 1000000},
		{"describe", &words->describe, 0, 1000000},
		{"content_seed", &words->shape.seed, 0, UINT32_MAX},
		{"files", &words->shape.files, FILES_LEAST, FILES_MOST},
		{"top", &words->shape.top, 0, TOP_MOST},
		{"tail_permyriad", &words->shape.tail_permyriad, 0, 10000},
		{"size_most", &words->shape.size_most, SIZE_LEAST_MOST, SIZE_MOST_MOST},
	};
	const char *equals = strchr(word, '=');
	size_t      length = equals ? (size_t)(equals - word) : 0;

	for (size_t i = 0; equals && i < sizeof(texts) / sizeof(*texts); i++)
		if (strlen(texts[i].name) == length && memcmp(texts[i].name, word, length) == 0) {
			*texts[i].value = equals + 1;
			return 0;
		}
	for (size_t i = 0; equals && i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct number_word *one = &numbers[i];

		if (strlen(one->name) != length || memcmp(one->name, word, length) != 0)
			continue;
		if (parse_number(equals + 1, one->value) || *one->value < one->least || *one->value > one->most) {
			fprintf(stderr, "steelyard-client: '%s': a number from %llu to %llu is allowed\n", word,
			        (unsigned long long)one->least, (unsigned long long)one->most);
			return 2;
		}
		return 0;
	}
	return refuse("there is no word '%s'", word);
}

static int is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 127)
			return 0;
	return 1;
}

static int read_address(const struct words *words, struct options *options)
{
	struct sockaddr_in  *four = (struct sockaddr_in *)&options->address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&options->address;
	int                  is_loopback;

	if (inet_pton(AF_INET, words->address, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)words->port);
		options->address_length = sizeof(*four);
		is_loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
	} else if (inet_pton(AF_INET6, words->address, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)words->port);
		options->address_length = sizeof(*six);
		is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	} else {
		return refuse("address=%s is no IPv4 or IPv6 address", words->address);
	}
	if (!is_loopback && strcmp(words->allow, words->address) != 0)
		return refuse("address=%s is not loopback: a load on another host must be allowed by "
		              "allow=ADDRESS with that same address",
		              words->address);
	return 0;
}

static int read_choice(const char *name, const char *value, const char *const choices[], int count, int *chosen)
{
	for (*chosen = 0; *chosen < count; ++*chosen)
		if (strcmp(value, choices[*chosen]) == 0)
			return 0;
	fprintf(stderr, "steelyard-client: %s=%s: allowed are", name, value);
	for (int i = 0; i < count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", choices[i]);
	fprintf(stderr, "\n");
	return 2;
}

/* A file must have been asked for at least once. */
static int read_model(const struct words *words, struct asked_model *model)
{
	static const char *const models[] = {"clients", "surge"};
	int                      status = read_choice("model", words->model, models, 2, &model->is_surge);

	if (status)
		return status;
	model->shape = words->shape;
	if (!model->shape.top)
		model->shape.top = model->shape.files;
	if (model->shape.top < model->shape.files) {
		fprintf(stderr, "steelyard-client: top=%llu: at least as many as files, %llu, are allowed\n",
		        (unsigned long long)model->shape.top, (unsigned long long)model->shape.files);
		return 2;
	}
	model->users = (struct users){
		.parallel = (unsigned)words->parallel,
		.off_permille = words->off_permille,
		.pauses_within = words->pauses_within != 0,
		.session = (unsigned)words->session,
	};
	model->content = words->content;
	model->describe = words->describe;
	return 0;
}

static int read_options(int count, char **word, struct options *options, struct asked_model *model)
{
	static const char *const connections[] = {"keep-alive", "new", "http/1.0"};
	static const char *const spreads[] = {"constant", "exponential"};
	struct words             words = {
		            .address = "127.0.0.1", .host = "localhost", .path = "/", .connection = "keep-alive",
		            .think = "constant", .arrivals = "constant", .allow = "", .port = 80, .clients = 1,
		            .threads = 1, .window_ms = 1000, .timeout_ms = 10000, .model = "clients", .parallel = 2,
		            .off_permille = 1000, .session = 8,
		            .shape = {.seed = 1, .files = 2000, .size_most = 50000000},
	};
	int status, connection = 0, think = 0, arrivals = 0;

	for (int i = 0; i < count; i++)
		if ((status = read_word(&words, word[i])))
			return status;
	if ((status = read_address(&words, options)) ||
	    (status = read_choice("connection", words.connection, connections, 3, &connection)) ||
	    (status = read_choice("think", words.think, spreads, 2, &think)) ||
	    (status = read_choice("arrivals", words.arrivals, spreads, 2, &arrivals)) ||
	    (status = read_model(&words, model)))
		return status;
	if (!is_clean(words.host) || !is_clean(words.path) || words.path[0] != '/')
		return refuse("%s: host and path are without spaces and control characters, and a path begins "
		              "with '/'",
		              is_clean(words.host) ? words.path : words.host);
	if (words.threads > words.clients)
		words.threads = words.clients;
	options->host = words.host;
	options->path = words.path;
	options->clients = (unsigned)words.clients;
	options->threads = (unsigned)words.threads;
	options->connection = (enum connection)connection;
	options->warmup_ns = words.warmup_ms * MS_NS;
	options->window_ns = words.window_ms * MS_NS;
	options->timeout_ns = words.timeout_ms * MS_NS;
	options->think_ns = words.think_us * 1000;
	options->think = (enum spread)think;
	options->rate = (double)words.rate_millihertz / 1000;
	options->arrivals = (enum spread)arrivals;
	options->verified = (double)words.verified_permille / 1000;
	options->seed = words.seed;
	return 0;
}

/* A descriptor a connection; of users that keep none, as many as there may be. Returns 0, or 1 with the
 * sentence said. */
static int raise_limit(unsigned clients, unsigned parallel, int is_kept)
{
	uint64_t needed = (uint64_t)clients * parallel, most = files_take(needed);

	if (most >= needed || !is_kept)
		return 0;
	fprintf(stderr, "steelyard-client: clients=%u need %llu open files, and the limit is %llu: raise it "
	                "(ulimit -n), or ask for fewer clients\n",
	        clients, (unsigned long long)(needed + FILES_BESIDES),
	        (unsigned long long)(most + FILES_BESIDES));
	return 1;
}

static void *run_task(void *argument)
{
	const struct task *task = argument;

	if (task->users)
		users_run(task->options, task->users, task->first, task->count, task->began, task->result);
	else
		loop_run(task->options, task->reference, task->first, task->count, task->began, task->result);
	return NULL;
}

static void add(struct result *all, const struct result *one)
{
	all->answers += one->answers;
	all->bytes += one->bytes;
	all->verified += one->verified;
	all->connections += one->connections;
	all->requests += one->requests;
	all->started += one->started;
	all->unsent += one->unsent;
	all->waited += one->waited;
	all->user_ns += one->user_ns;
	all->system_ns += one->system_ns;
	for (int i = 0; i < FAILURES; i++)
		all->failures[i] += one->failures[i];
	histogram_merge(&all->latency, &one->latency);
	histogram_merge(&all->intended, &one->intended);
	histogram_merge(&all->lag, &one->lag);
	histogram_merge(&all->object, &one->object);
	all->objects += one->objects;
	all->objects_begun += one->objects_begun;
	all->objects_failed += one->objects_failed;
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

static void write_histogram(const char *of, const struct histogram *histogram)
{
	static uint64_t values[HISTOGRAM_BUCKETS], counts[HISTOGRAM_BUCKETS];
	size_t          count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->counts[i]) {
			values[count] = histogram_value(i);
			counts[count++] = histogram->counts[i];
		}
	record_open("histogram");
	record_text("of", of);
	record_numbers("values_ns", values, count);
	record_numbers("counts", counts, count);
	record_close(1);
}

static void write_series(const struct options *options, const struct result *all)
{
	static uint64_t column[SECONDS_MOST];
	size_t          count = (size_t)(options->window_ns / SECOND_NS); /* whole ones */

	record_open("series");
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].answers;
	record_numbers("answers", column, count);
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].bytes;
	record_numbers("bytes", column, count);
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].failures;
	record_numbers("failures", column, count);
	record_close(1);
}

static void write_objects(const struct options *options, const struct users *users, const struct result *all)
{
	record_open("surge");
	describe_model(users);
	record_real("objects_offered", users_offered(users, options->clients));
	record_number("objects", all->objects);
	record_number("objects_begun", all->objects_begun);
	record_number("objects_failed", all->objects_failed);
	record_number("sequence_permille", all->sequence_permille);
	record_close(1);
	write_histogram("object", &all->object);
}

static void write_load(const struct options *options, const struct reference *reference, const struct users *users,
                       const struct result *all, uint64_t elapsed_ns, double busy_most)
{
	record_open("load");
	record_number("protocol", 1);
	record_number("window_ns", options->window_ns);
	record_number("elapsed_ns", elapsed_ns);
	record_number("answers", all->answers);
	record_number("bytes", all->bytes);
	record_number("verified", all->verified);
	record_truth("body_fixed", reference->is_fixed);
	record_number("body_bytes", reference->length);
	record_number("connections", all->connections);
	record_number("requests", all->requests + REFERENCE_REQUESTS);
	record_number("started", all->started);
	record_number("waited", all->waited);
	record_number("unsent", all->unsent);
	record_object("failures");
	for (int i = 0; i < FAILURES; i++)
		record_number(failure_names[i], all->failures[i]);
	record_object_close();
	record_number("user_ns", all->user_ns);
	record_number("system_ns", all->system_ns);
	record_real("busy_most", busy_most); /* of the busiest loop: its processor time over its time */
	record_close(1);
	write_histogram("latency", &all->latency);
	write_histogram("intended", &all->intended);
	write_histogram("lag", &all->lag);
	write_series(options, all);
	if (users)
		write_objects(options, users, all);
}

static int run(const struct options *options, const struct reference *reference, const struct users *users)
{
	struct result *results = calloc(options->threads + 1, sizeof(*results));
	struct result *all;
	struct task    tasks[THREADS_MOST];
	pthread_t      threads[THREADS_MOST];
	unsigned       begun = 0;
	uint64_t       began, elapsed;
	double         busy_most = 0;

	if (!results) {
		perror("steelyard-client");
		return 1;
	}
	all = &results[options->threads];
	began = now_ns();
	for (; begun < options->threads; begun++) {
		unsigned first = (unsigned)((uint64_t)options->clients * begun / options->threads);
		unsigned end = (unsigned)((uint64_t)options->clients * (begun + 1) / options->threads);

		tasks[begun] = (struct task){options, reference, users, first, end - first, began, &results[begun]};
		errno = pthread_create(&threads[begun], NULL, run_task, &tasks[begun]);
		if (errno) {
			perror("steelyard-client: a thread cannot be started");
			all->broken = errno;
			break;
		}
	}
	for (unsigned i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	elapsed = now_ns() - began;
	for (unsigned i = 0; i < begun; i++) {
		double busy = (double)(results[i].user_ns + results[i].system_ns) / (double)elapsed;

		busy_most = fmax(busy_most, busy);
		add(all, &results[i]);
	}
	if (all->broken)
		fprintf(stderr, "steelyard-client: the load ended early: %s\n", strerror(all->broken));
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
		fprintf(stderr, "steelyard-client: the server serves another file set than this: at %s stands "
		                "another digest than %s (content=DIRECTORY writes the files)\n",
		        path, surge->digest);
	free(reference.body);
	return is_same;
}

static int run_surge(const struct options *options, struct asked_model *model)
{
	struct surge     surge;
	struct content   content = {NULL};
	struct reference reference = {NULL, 0, 1}; /* each file has its own; all are checked */
	int              failed = 1;

	if (surge_make(&surge, &model->shape) || content_make(&content, &surge)) {
		perror("steelyard-client: the file set cannot be made");
	} else if (model->content && content_write(&content, &surge, model->content)) {
		fprintf(stderr, "steelyard-client: content=%s: the files cannot be written: %s\n", model->content,
		        strerror(errno));
	} else {
		model->users.surge = &surge;
		model->users.content = &content;
		failed = model->describe ? describe_all(&model->users, options->seed, model->describe) != 0
		                         : !is_served(options, &surge) || run(options, &reference, &model->users);
	}
	content_free(&content);
	surge_free(&surge);
	return failed;
}

int main(int argc, char **argv)
{
	struct options     options = {0};
	struct asked_model model = {0};
	int                status = read_options(argc - 1, argv + 1, &options, &model);

	signal(SIGPIPE, SIG_IGN);
	/* Who started it wants the answer: a laboratory that was killed leaves no load behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (status || (status = raise_limit(options.clients, model.is_surge ? model.users.parallel : 1,
	                                    !model.is_surge || options.connection == CONNECTION_KEEP)))
		return status;
	return model.is_surge ? run_surge(&options, &model) : run_clients(&options);
}
