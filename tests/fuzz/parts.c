/* parts.c -- a target for libFuzzer: what reads text from outside, by the product's own files.
 *
 * An input's first byte chooses the part (the table below), the rest is its text; where that is
 * several files, a byte 0xfe stands between two. A part ends the process where the text was not
 * understood as promised; the sanitizers do where memory was not used as allowed. Not here: what
 * only a running agent does (whole_agent.py).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadgen/response.h"
#include "fingerprint.h"
#include "lines.h"
#include "sweep.h"

/* What these keep to themselves is what is wanted. */
#include "ledger.c"
#include "supervise.c"

enum { FILES_MOST = 16, BETWEEN_FILES = 0xfe };

void read_process(int directory); /* process.c */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define MUST(condition)                                                                    \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "parts.c:%d: not so: %s\n", __LINE__, #condition); \
			abort();                                                           \
		}                                                                          \
	} while (0)

static char root[] = "/tmp/steelyard-fuzz-XXXXXX";
static char said_so_far[1 << 20];

/* Whether it is one JSON value and a newline: strings of printable ASCII, brackets in pairs. */
static int is_record(const char *line, size_t count)
{
	int depth = 0, in_string = 0;

	if (count < 3 || *line != '{' || line[count - 1] != '\n')
		return 0;
	for (size_t i = 0; i + 1 < count; i++) {
		char byte = line[i];

		if (byte < 0x20 || byte > 0x7e)
			return 0;
		if (in_string && byte == '\\') {
			i++;
			if (line[i] == 'u' && strspn(line + i + 1, "0123456789abcdef") < 4)
				return 0;
			if (!strchr("u\"\\", line[i]))
				return 0;
		} else if (byte == '"') {
			in_string = !in_string;
		} else if (!in_string) {
			depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
			if (depth <= 0 && i + 2 < count)
				return 0;
		}
	}
	return !in_string && depth == 0;
}

/* Everything that was written to standard output since the last time. */
static void check_records(void)
{
	ssize_t count = pread(1, said_so_far, sizeof(said_so_far) - 1, 0);
	char   *line = said_so_far, *newline;

	MUST(count >= 0 && record_error() == 0);
	said_so_far[count] = 0;
	for (; (newline = strchr(line, '\n')); line = newline + 1)
		MUST(is_record(line, (size_t)(newline + 1 - line)));
	MUST(line == said_so_far + count);
	MUST(ftruncate(1, 0) == 0 && lseek(1, 0, SEEK_SET) == 0);
}

static void check_values(const struct parameter *parameters)
{
	for (const struct parameter *p = parameters; p && p->name; p++)
		MUST(p->text ? strlen(p->text) <= p->most : *p->value <= p->most);
}

static void check_curve(struct sweep *sweep)
{
	uint64_t points[POINTS_MOST], sum = 0;
	char     why[256] = "";
	int      count = sweep_points(sweep, points, why, sizeof(why));

	MUST(count <= POINTS_MOST && (count >= 0 || *why));
	for (int i = 0; i < count; i++) {
		MUST(points[i] % sweep->grain == 0 && points[i] > 0);
		MUST(i == 0 || points[i] > points[i - 1]);
		sum += points[i];
	}
	if (count <= 0)
		return;
	sweep_shuffle(points, count, settings.seed);
	for (int i = 0; i < count; i++)
		sum -= points[i];
	MUST(sum == 0);
}

static void try_request(char *line)
{
	struct request request;
	char           why[512] = "";

	if (request_parse(line, &request, why, sizeof(why))) {
		MUST(*why);
	} else {
		MUST(settings.copies >= 1 && settings.copies <= COPIES_MOST &&
		     settings.limit_ms >= 1);
		MUST(request.setting_count < PARAMETERS_SET_MOST &&
		     !request.settings[request.setting_count]);
		check_values(trial_parameters);
		check_values(request.workload->parameters);
		if (request.workload->sweep)
			check_curve(request.workload->sweep);
		memset(&g, 0, sizeof(g));
		g.request = &request;
		write_begin();
	}
	record_open("error");
	record_text("trial", request.id);
	record_text("reason", why);
	record_close(1);
	check_records();
}

static struct lines lines;

/* What the line must be that these bytes are, without its end. */
static size_t length_of(const uint8_t *line, size_t count)
{
	return count && line[count - 1] == '\r' ? count - 1 : count;
}

/* Takes all whole lines; they must be the next ones of the text from `at` on. Returns where these
 * end. */
static const uint8_t *take_lines(const uint8_t *at, const uint8_t *end)
{
	char  *line;
	size_t length;

	while ((line = lines_take(&lines, &length))) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
		size_t         expected = length_of(at, (size_t)(newline - at));
		char           id[ID_ROOM];

		MUST(newline && line[length] == 0);
		MUST(expected > LINE_MOST ? length > LINE_MOST : length == expected);
		MUST(!memcmp(line, at, length < LINE_MOST ? length : LINE_MOST));
		request_id(line, id);
		if (length <= LINE_MOST && strlen(line) == length && !strncmp(line, "trial ", 6))
			try_request(line + 6);
		at = newline + 1;
	}
	return at;
}

/* The text comes in pieces, as long as its second byte says; now and then those that wait are
 * taken. */
static void requests(const uint8_t *text, size_t count)
{
	const uint8_t *at = text, *end = text + count;
	size_t         piece = count ? 1 + 16u * *text : 1, length;
	char          *open;

	lines.from = lines.count = lines.open = 0;
	for (size_t put = 0; put < count; put += piece) {
		size_t more = count - put < piece ? count - put : piece;

		if (!lines_have_room(&lines) || piece % 3 == 0)
			at = take_lines(at, end);
		lines_add(&lines, (const char *)text + put, more);
	}
	at = take_lines(at, end);
	open = lines_take_open(&lines, &length);
	MUST(!memchr(at, '\n', (size_t)(end - at)) && !open == (at == end));
	MUST(!open || length == (size_t)(end - at) || length > LINE_MOST);
}

/* Every "stop 1" is found, and what is left are the other lines. */
static void stops(const uint8_t *text, size_t count)
{
	size_t         wanted = 0, left = 0, length;
	const uint8_t *newline;

	if (count > LINES_CHUNK)
		return;
	lines.from = lines.count = lines.open = 0;
	lines_add(&lines, (const char *)text, count);
	for (const uint8_t *at = text; (newline = memchr(at, '\n', (size_t)(text + count - at)));
	     at = newline + 1)
		if (length_of(at, (size_t)(newline - at)) == 6 && !memcmp(at, "stop 1", 6))
			wanted++;
		else
			left++;
	while (wanted--)
		MUST(lines_drop(&lines, "stop 1"));
	MUST(!lines_drop(&lines, "stop 1"));
	while (lines_take(&lines, &length))
		left--;
	MUST(left == 0);
}

/* Lays the text's files out below `root`; where it has fewer, the rest are not there. */
static void lay_out_files(const char *const names[], const uint8_t *text, size_t count)
{
	const uint8_t *end = text + count;

	for (int i = 0; names[i]; i++) {
		char           path[PATH_MAX];
		const uint8_t *next = text ? memchr(text, BETWEEN_FILES, (size_t)(end - text))
		                           : NULL;
		int            file;

		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		unlink(path);
		if (!text)
			continue;
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		MUST(file >= 0);
		MUST(!write_whole(file, (const char *)text, (size_t)((next ? next : end) - text)));
		close(file);
		text = next ? next + 1 : NULL;
	}
}

static const char *const facts_files[] = {
	"/proc/self/mountinfo",
	"/proc/cpuinfo",
	"/proc/meminfo",
	"/proc/cmdline",
	"/proc/sys/vm/nr_hugepages",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/devices/system/cpu/vulnerabilities/mds",
	"/sys/devices/system/cpu/cpu0/cache/index0/level",
	"/sys/devices/system/cpu/cpu0/cache/index0/type",
	"/sys/devices/system/cpu/cpu0/cache/index0/size",
	"/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
	"/sys/class/dmi/id/product_name",
	NULL
};

static void facts(const uint8_t *text, size_t count)
{
	lay_out_files(facts_files, text, count);
	record_open("system");
	facts_kernel(root);
	facts_processor(root);
	facts_memory(root);
	facts_caches(root);
	facts_clock_source(root);
	facts_protection(root);
	facts_machine(root, NULL);
	facts_file_system("/a b/c", root);
	record_close(1);
	check_records();
}

static const char *const process_files[] = { "/proc/comm", "/proc/stat",      "/proc/status",
	                                     "/proc/io",   "/proc/schedstat", NULL };

static void process(const uint8_t *text, size_t count)
{
	char place[PATH_MAX];
	int  directory;

	lay_out_files(process_files, text, count);
	snprintf(place, sizeof(place), "%s/proc", root);
	directory = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(directory >= 0);
	read_process(directory);
	close(directory);
}

static void ledger(const uint8_t *text, size_t count)
{
	static int    file = -1;
	struct ledger found;
	int           expected = 0;

	if (file < 0)
		file = memfd_create("ledger", MFD_CLOEXEC);
	MUST(ftruncate(file, (off_t)count) == 0 && pwrite(file, text, count, 0) == (ssize_t)count);
	MUST(!ledger_read(file, &found));
	for (size_t i = 0; i < count && text[i]; i++)
		expected += text[i] == '\n';
	MUST(found.count == expected);
	for (int i = 0; i < found.count; i++)
		MUST(!said(found.lines[i], "set") || strlen(found.lines[i]) >= 4);
	ledger_free(&found);
}

/* What a trial's process says to its agent. */
static void heard(const uint8_t *text, size_t count)
{
	struct request request = { .id = "1", .workload = workloads[0] };
	struct copy    copy = { .down = -1, .started = 1, .spoke = 1 };
	char          *whole = malloc(count + 1), *rest = whole, *line;

	MUST(whole);
	memcpy(whole, text, count);
	whole[count] = 0;
	memset(&g, 0, sizeof(g));
	g.request = &request;
	g.copies = &copy;
	g.count = g.wanted = 1;
	while ((line = strsep(&rest, "\n")))
		if (*line != '{') /* passed on as it is: the laboratory is the one to judge it */
			hear_line(&copy, line);
	write_processes();
	write_end();
	check_records();
	free(whole);
}

/* An answer of HTTP is understood alike in whatever pieces it comes, here as long as its second
 * byte says. */
static void response(const uint8_t *text, size_t count)
{
	static struct response whole, pieces;
	size_t                 piece = count ? 1u + *text : 1;

	if (count > HEAD_MOST)
		return;
	response_begin(&whole, 0);
	response_begin(&pieces, 0);
	response_take(&whole, (const char *)text, count, NULL, NULL);
	for (size_t put = 0; put < count; put += piece)
		response_take(&pieces, (const char *)text + put,
		              count - put < piece ? count - put : piece, NULL, NULL);
	response_end(&whole);
	response_end(&pieces);
	MUST(whole.state == pieces.state);
	MUST(whole.state == RESPONSE_MALFORMED ||
	     (whole.status == pieces.status && whole.received == pieces.received &&
	      whole.left == pieces.left));
	response_free(&whole);
	response_free(&pieces);
}

static const struct {
	char letter;
	void (*try)(const uint8_t *text, size_t count);
} parts[] = {
	{ 'r', requests }, { 's', stops }, { 'f', facts },    { 'p', process },
	{ 'l', ledger },   { 'h', heard }, { 'c', response },
};

static void make_parents(const char *name)
{
	char path[PATH_MAX];

	for (const char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%s%.*s", root, (int)(slash - name), name);
		mkdir(path, 0700);
	}
}

static void clear(void)
{
	tree_remove(root);
}

/* Records go into a file of no name in place of standard output. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int records = memfd_create("records", MFD_CLOEXEC);

	(void)argc;
	(void)argv;
	MUST(records >= 0 && dup2(records, 1) == 1 && mkdtemp(root));
	for (int i = 0; facts_files[i]; i++)
		make_parents(facts_files[i]);
	atexit(clear);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; count && i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].letter == (char)*bytes)
			parts[i].try(bytes + 1, count - 1);
	return 0;
}
