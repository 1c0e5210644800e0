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
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/api/workload.h"
#include "../workloads/api/record.h"
#include "client.h"

enum { CLIENTS_MOST = 1000000, THREADS_MOST = 64, MS_NS = 1000000 };

struct words {
	const char *address, *host, *path, *connection, *think, *arrivals, *allow;
	uint64_t    port, clients, threads, warmup_ms, window_ms, timeout_ms, think_us, rate_millihertz;
	uint64_t    verified_permille, seed;
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
		{"allow", &words->allow},
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

static int read_options(int count, char **word, struct options *options)
{
	static const char *const connections[] = {"keep-alive", "new", "http/1.0"};
	static const char *const spreads[] = {"constant", "exponential"};
	struct words             words = {
		            .address = "127.0.0.1", .host = "localhost", .path = "/", .connection = "keep-alive",
		            .think = "constant", .arrivals = "constant", .allow = "", .port = 80, .clients = 1,
		            .threads = 1, .window_ms = 1000, .timeout_ms = 10000,
	};
	int status, connection = 0, think = 0, arrivals = 0;

	for (int i = 0; i < count; i++)
		if ((status = read_word(&words, word[i])))
			return status;
	if ((status = read_address(&words, options)) ||
	    (status = read_choice("connection", words.connection, connections, 3, &connection)) ||
	    (status = read_choice("think", words.think, spreads, 2, &think)) ||
	    (status = read_choice("arrivals", words.arrivals, spreads, 2, &arrivals)))
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

/* A descriptor a client, and some besides. Returns 0, or 1 with the sentence said. */
static int raise_limit(unsigned clients)
{
	struct rlimit limit;
	rlim_t        needed = (rlim_t)clients + 64;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= needed)
		return 0;
	limit.rlim_cur = needed;
	if (limit.rlim_max < needed)
		limit.rlim_max = needed;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	fprintf(stderr, "steelyard-client: clients=%u need %llu open files, and the limit is %llu: raise it "
	                "(ulimit -n), or ask for fewer clients\n",
	        clients, (unsigned long long)needed, (unsigned long long)limit.rlim_max);
	return 1;
}

static void *run_task(void *argument)
{
	const struct task *task = argument;

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

static void write_load(const struct options *options, const struct reference *reference,
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
}

static int run(const struct options *options, const struct reference *reference)
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

		tasks[begun] = (struct task){options, reference, first, end - first, began, &results[begun]};
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
		write_load(options, reference, all, elapsed, busy_most);
	busy_most = all->broken;
	free(results);
	return busy_most != 0;
}

int main(int argc, char **argv)
{
	struct options   options = {0};
	struct reference reference;
	char             why[256];
	int              status = read_options(argc - 1, argv + 1, &options);

	signal(SIGPIPE, SIG_IGN);
	/* Who started it wants the answer: a laboratory that was killed leaves no load behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (status || (status = raise_limit(options.clients)))
		return status;
	if (reference_fetch(&options, &reference, why, sizeof(why))) {
		fprintf(stderr, "steelyard-client: %s\n", why);
		return 1;
	}
	status = run(&options, &reference);
	free(reference.body);
	return status;
}
