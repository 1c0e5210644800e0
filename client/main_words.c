/* main_words.c -- see main_words.h. */
#include "main_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "../loadgen/address.h"
#include "../loadgen/load.h"

enum { CLIENTS_MOST = 1000000, CHOICES_MOST = 3, MS_NS = 1000000, DATA_MOST = 16 << 20 };

static const char *address = "127.0.0.1", *host = "localhost", *path = "/", *allow = "", *content;
static const char *method = "", *header, *data, *data_file;
static char        headers[REQUEST_MOST];              /* each `header`, with the end of its line */
static uint64_t    connection, think, arrivals, model; /* each the number of a choice */
static uint64_t port = 80, clients = 1, threads = 1, rate_millihertz, think_us, verified_permille;
static uint64_t timeout_ms = 10000, warmup_ms, window_ms = 1000, seed;
static uint64_t parallel = 2, off_permille = 1000, pauses_within, session = 8, describe;
static struct shape shape = { .seed = 1, .files = 2000, .size_most = 50000000 };

/* A word has a text, or a number from `least` to `most`, or one of the choices. */
/* clang-format off */
static const struct word {
	const char  *name, *says;
	const char **text;
	uint64_t    *number, least, most;
	const char  *choices[CHOICES_MOST + 1];
} table[] = {
	{ "address", "the server, by number (IPv4, or IPv6, with %ZONE if it needs one)",
	  .text = &address },
	{ "port", "its port", NULL, &port, 1, 65535, { NULL } },
	{ "allow", "an address that is not loopback, once more", .text = &allow },
	{ "host", "for the Host header", .text = &host },
	{ "path", "what is asked for", .text = &path },
	{ "method", "of the request (empty: GET, or POST with data)", .text = &method },
	{ "header", "NAME:VALUE, a further line of the request; may be repeated", .text = &header },
	{ "data", "the request's body", .text = &data },
	{ "data_file", "a file that holds it", .text = &data_file },
	{ "clients", "that ask at one time", NULL, &clients, 1, CLIENTS_MOST, { NULL } },
	{ "threads", "that the clients are divided among",
	  NULL, &threads, 1, THREADS_MOST, { NULL } },
	{ "connection", "kept, or new for each request",
	  NULL, &connection, 0, 0, { "keep-alive", "new", "http/1.0" } },
	{ "rate_millihertz", "requests in 1000 s (0: each client waits for its answer)",
	  NULL, &rate_millihertz, 0, 10000000000ull, { NULL } },
	{ "arrivals", "how they are spread", NULL, &arrivals, 0, 0, { "constant", "exponential" } },
	{ "think_us", "a client's mean pause after an answer",
	  NULL, &think_us, 0, 600000000, { NULL } },
	{ "think", "how it is spread", NULL, &think, 0, 0, { "constant", "exponential" } },
	{ "verified_permille", "of the bodies, compared byte by byte",
	  NULL, &verified_permille, 0, 1000, { NULL } },
	{ "timeout_ms", "for an answer", NULL, &timeout_ms, 1, 600000, { NULL } },
	{ "warmup_ms", "before what counts", NULL, &warmup_ms, 0, 600000, { NULL } },
	{ "window_ms", "that counts", NULL, &window_ms, 1, 1000ull * SECONDS_MOST, { NULL } },
	{ "seed", "of all that is drawn", NULL, &seed, 0, UINT64_MAX, { NULL } },
	{ "model", "of the load", NULL, &model, 0, 0, { "clients", "surge" } },
	{ "content", "surge: the directory to write its files into", .text = &content },
	{ "content_seed", "surge: of its files", NULL, &shape.seed, 0, UINT32_MAX, { NULL } },
	{ "files", "surge: how many", NULL, &shape.files, FILES_LEAST, FILES_MOST, { NULL } },
	{ "top", "surge: references of the most popular file (0: as many as files)",
	  NULL, &shape.top, 0, TOP_MOST, { NULL } },
	{ "tail_permyriad", "surge: share of sizes from the tail (0: continuous)",
	  NULL, &shape.tail_permyriad, 0, 10000, { NULL } },
	{ "size_most", "surge: bytes of the largest file",
	  NULL, &shape.size_most, SIZE_LEAST_MOST, SIZE_MOST_MOST, { NULL } },
	{ "off_permille", "surge: scale of all pauses", NULL, &off_permille, 0, 1000000, { NULL } },
	{ "pauses_within", "surge: 1: between the files of an object too",
	  NULL, &pauses_within, 0, 1, { NULL } },
	{ "parallel", "surge: connections of a user", NULL, &parallel, 1, PARALLEL_MOST, { NULL } },
	{ "session", "surge: mean objects until a user ends its connections",
	  NULL, &session, 1, 1000000, { NULL } },
	{ "describe", "surge: draws of each pause, written in place of a load",
	  NULL, &describe, 0, 1000000, { NULL } },
};
/* clang-format on */
enum { WORDS = sizeof table / sizeof *table };

static void print_help(void)
{
	printf("usage: steelyard-client NAME=VALUE ...\n"
	       "       steelyard-client --help\n"
	       "\n"
	       "The load generator of Steelyard: loads an HTTP server, and writes what it saw as records.\n"
	       "'steelyard load' starts it, and reports what it has written.\n"
	       "\n");
	for (int i = 0; i < WORDS; i++) {
		const struct word *one = &table[i];
		char               word[64], follows[40] = "", most[48] = "", initially[40];

		for (int choice = 0; choice < CHOICES_MOST && one->choices[choice]; choice++)
			snprintf(follows + strlen(follows), sizeof follows - strlen(follows),
			         "%s%s", choice ? "|" : "", one->choices[choice]);
		if (one->text || one->choices[0])
			snprintf(initially, sizeof initially, "%s",
			         one->choices[0] ? one->choices[*one->number]
			         : *one->text    ? *one->text
			                         : "");
		else
			snprintf(initially, sizeof initially, "%llu",
			         (unsigned long long)*one->number);
		if (!one->text && !one->choices[0])
			snprintf(most, sizeof most, ", %llu to %llu",
			         (unsigned long long)one->least, (unsigned long long)one->most);
		snprintf(word, sizeof word, "%s=%s", one->name,
		         one->text  ? "TEXT"
		         : *follows ? follows
		                    : "N");
		printf("  %-33s  %s%s%s%s\n", word, one->says, most,
		       *initially ? "; initially " : "", initially);
	}
	printf("\n"
	       "docs/explanation/servers.md says what the records hold.\n"
	       "Exit status: 0 done, 1 the server or this machine failed, 2 a word that cannot be.\n"
	       "\n"
	       "  steelyard-client port=8080 clients=64 threads=2 window_ms=5000\n"
	       "  steelyard-client port=8080 clients=100 rate_millihertz=2000000 arrivals=exponential\n"
	       "  steelyard-client model=surge content=/srv/www/surge describe=1\n");
}

static int refuse(const char *sentence, const char *value)
{
	fprintf(stderr, "steelyard-client: ");
	fprintf(stderr, sentence, value); /* a format of ours, with one %s */
	fprintf(stderr, "\n");
	return 2;
}

static int read_choice(const struct word *word, const char *value)
{
	for (uint64_t i = 0; i < CHOICES_MOST && word->choices[i]; i++)
		if (strcmp(value, word->choices[i]) == 0) {
			*word->number = i;
			return 0;
		}
	fprintf(stderr, "steelyard-client: %s=%s: allowed are", word->name, value);
	for (int i = 0; i < CHOICES_MOST && word->choices[i]; i++)
		fprintf(stderr, "%s %s", i ? "," : "", word->choices[i]);
	fprintf(stderr, "\n");
	return 2;
}

static int read_number(const struct word *word, const char *value)
{
	uint64_t number;

	if (parse_number(value, &number) == 0 && number >= word->least && number <= word->most) {
		*word->number = number;
		return 0;
	}
	fprintf(stderr, "steelyard-client: '%s=%s': a number from %llu to %llu is allowed\n",
	        word->name, value, (unsigned long long)word->least, (unsigned long long)word->most);
	return 2;
}

/* Printable, but for tabs: a line of a request cannot end within a value. */
static int is_line(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 127)
			return 0;
	return 1;
}

static int add_header(const char *line)
{
	size_t used = strlen(headers), name = strcspn(line, ":");

	if (!name || !line[name] || strcspn(line, " \t") < name || !is_line(line))
		return refuse("header=%s is not of the form NAME:VALUE, in one line", line);
	if (snprintf(headers + used, sizeof(headers) - used, "%s\r\n", line) >=
	    (int)(sizeof(headers) - used))
		return refuse("header=%s: all headers together have more than 8192 bytes", line);
	return 0;
}

static int read_word(const char *said)
{
	const char *equals = strchr(said, '=');
	size_t      length = equals ? (size_t)(equals - said) : 0;

	for (int i = 0; equals && i < WORDS; i++) {
		const struct word *one = &table[i];

		if (strlen(one->name) != length || memcmp(one->name, said, length) != 0)
			continue;
		if (one->text)
			*one->text = equals + 1;
		return one->text == &header ? add_header(header)
		       : one->text          ? 0
		       : one->choices[0]    ? read_choice(one, equals + 1)
		                            : read_number(one, equals + 1);
	}
	return refuse("there is no word '%s'; steelyard-client --help lists them", said);
}

static int is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 127)
			return 0;
	return 1;
}

static int read_address(struct options *options)
{
	int kind = address_read(address, (uint16_t)port, options);

	if (kind == ADDRESS_NONE)
		return refuse("address=%s is no IPv4 or IPv6 address", address);
	if (kind == ADDRESS_NO_ZONE)
		return refuse("address=%s has a zone that is no network interface here", address);
	if (kind != ADDRESS_LOOPBACK && strcmp(allow, address) != 0)
		return refuse(
			"address=%s is not loopback: a load on another host must be allowed by "
			"allow=ADDRESS with that same address",
			address);
	if (!is_clean(host) || !is_clean(path) || path[0] != '/')
		return refuse(
			"%s: host and path are without spaces and control characters, and a path begins "
			"with '/'",
			is_clean(host) ? path : host);
	return 0;
}

/* The request's body, of a file too, which is never freed. */
static int read_data(struct options *options)
{
	FILE *file;
	char *bytes;

	options->data = data;
	options->data_length = data ? strlen(data) : 0;
	if (!data_file)
		return 0;
	file = fopen(data_file, "rbe");
	bytes = file ? malloc(DATA_MOST + 1) : NULL;
	if (bytes)
		options->data_length = fread(bytes, 1, DATA_MOST + 1, file);
	if (!bytes || ferror(file)) {
		fprintf(stderr, "steelyard-client: data_file=%s cannot be read: %s\n", data_file,
		        strerror(errno));
		return 2;
	}
	fclose(file);
	options->data = bytes;
	return options->data_length > DATA_MOST
	               ? refuse("data_file=%s has more than 16 MiB", data_file)
	               : 0;
}

/* A file must have been asked for at least once. */
static int read_model(struct asked_model *asked)
{
	if (!shape.top)
		shape.top = shape.files;
	if (shape.top < shape.files) {
		fprintf(stderr,
		        "steelyard-client: top=%llu: at least as many as files, %llu, are allowed\n",
		        (unsigned long long)shape.top, (unsigned long long)shape.files);
		return 2;
	}
	*asked = (struct asked_model){
		.is_surge = model != 0,
		.shape    = shape,
		.content  = content,
		.describe = describe,
		.users    = {
			.parallel      = (unsigned)parallel,
			.off_permille  = off_permille,
			.pauses_within = pauses_within != 0,
			.session       = (unsigned)session,
		},
	};
	return 0;
}

int words_read(int count, char **word, struct options *options, struct asked_model *asked)
{
	int status;

	if (count == 1 && strcmp(word[0], "--help") == 0) {
		print_help();
		return WORDS_HELP;
	}
	for (int i = 0; i < count; i++)
		if ((status = read_word(word[i])))
			return status;
	if ((status = read_address(options)) || (status = read_model(asked)) ||
	    (status = read_data(options)))
		return status;
	if (!is_clean(method))
		return refuse("method=%s has spaces or control characters", method);
	options->method = *method ? method : NULL;
	options->headers = headers;
	options->host = host;
	options->path = path;
	options->clients = (unsigned)clients;
	options->threads = (unsigned)(threads < clients ? threads : clients);
	options->connection = (enum connection)connection;
	options->warmup_ns = warmup_ms * MS_NS;
	options->window_ns = window_ms * MS_NS;
	options->timeout_ns = timeout_ms * MS_NS;
	options->think_ns = think_us * 1000;
	options->think = (enum spread)think;
	options->rate = (double)rate_millihertz / 1000;
	options->arrivals = (enum spread)arrivals;
	options->verified = (double)verified_permille / 1000;
	options->seed = seed;
	return 0;
}
