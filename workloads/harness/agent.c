/* agent.c -- see agent.h. */
#include "agent.h"

#include <stdio.h>
#include <string.h>

#include "../api/record.h"
#include "clock.h"
#include "fingerprint.h"
#include "sha256.h"
#include "sweep.h"
#include "system.h"
#include "tree.h"
#include "trial.h"

enum { PROTOCOL = 1, LINE_ROOM = 8192 };

/* Requests as they come: possibly several at once, possibly part of one. */
static struct {
	char   bytes[LINE_ROOM];
	size_t count;
	int    ended;
} input;

static void read_more(void)
{
	ssize_t got = stream_take(stream_input(), input.bytes + input.count,
	                          sizeof(input.bytes) - input.count);

	if (got <= 0)
		input.ended = 1;
	else
		input.count += (size_t)got;
	/* A line that fills the room can never end: its beginning is dropped, the rest is refused. */
	if (input.count == sizeof(input.bytes) && !memchr(input.bytes, '\n', input.count))
		input.count = 0;
}

/* Moves the first whole line into `line`. Returns 1, or 0 if there is none yet. */
static int take_line(char line[LINE_ROOM])
{
	char  *newline = memchr(input.bytes, '\n', input.count);
	size_t length;

	if (!newline)
		return 0;
	length = (size_t)(newline - input.bytes);
	memcpy(line, input.bytes, length);
	line[length] = 0;
	if (length && line[length - 1] == '\r')
		line[length - 1] = 0;
	input.count -= length + 1;
	memmove(input.bytes, newline + 1, input.count);
	return 1;
}

/* Where those bytes are in the input; NULL: nowhere. */
static char *find_bytes(const char *wanted, size_t count)
{
	for (size_t at = 0; at + count <= input.count; at++)
		if (!memcmp(input.bytes + at, wanted, count))
			return input.bytes + at;
	return NULL;
}

/* While a trial runs: nonzero when it must stop, because that was asked or nobody listens. Other
 * lines wait their turn. */
static int must_stop(const char *id)
{
	char  wanted[ID_ROOM + 8];
	char *found;

	read_more();
	if (input.ended)
		return 1;
	snprintf(wanted, sizeof(wanted), "stop %s\n", id);
	found = find_bytes(wanted, strlen(wanted));
	if (!found)
		return 0;
	input.count -= strlen(wanted);
	memmove(found, found + strlen(wanted), (size_t)(input.bytes + input.count - found));
	return 1;
}

static void refuse(const char *id, const char *why)
{
	record_open("error");
	record_text("trial", id);
	record_text("reason", why);
	record_close(1);
}

static int trial(const char *directory, char *arguments, int (*line_waiting)(const char *id))
{
	const char    *under[UNDER_MOST + 1];
	struct request request;
	char           why[512];

	if (request_parse(arguments, &request, why, sizeof(why))) {
		refuse(*request.id ? request.id : NULL, why);
		return 2;
	}
	if (settings.copies > 1 && self_under(under)) {
		refuse(request.id, "each of several copies would be under a monitor of its own");
		return 2;
	}
	return trial_supervise(&request, directory, line_waiting);
}

void hello_write(void)
{
	struct clock_facts facts = clock_measure();
	char               hex[SHA256_HEX_ROOM];

	record_open("hello");
	record_number("protocol", PROTOCOL);
	record_text("version", STEELYARD_VERSION);
	record_text("program_sha256", sha256_file(self_path(), hex) ? NULL : hex);
	record_text("compiler", build_compiler());
	record_text("libc", build_libc());
	record_text("clock", clock_name);
	record_number("clock_resolution_ns", facts.resolution_ns);
	record_number("clock_cost_ns", facts.cost_ns);
	record_close(1);
}

static void parameters_write(const struct parameter *parameters)
{
	for (const struct parameter *p = parameters; p && p->name; p++) {
		record_object(NULL);
		record_text("name", p->name);
		record_text("summary", p->summary);
		if (p->text)
			record_text("initial", p->text);
		else
			record_number("initial", *p->value);
		record_number("least", p->least);
		record_number("most", p->most);
		record_object_close();
	}
}

static void metric_write(const char *name, const char *less)
{
	record_object(NULL);
	record_text("name", name);
	record_text("less", less);
	record_object_close();
}

static void workload_write(const struct workload *w)
{
	struct parameter swept[4] = { 0 };

	record_object(NULL);
	record_text("name", w->name);
	record_text("group", w->group);
	record_text("summary", w->summary);
	record_text("operation", w->operation);
	record_list("metrics");
	if (w->run)
		metric_write(only_metric(w), NULL);
	for (const struct phase *p = w->phases; p && p->metric; p++)
		metric_write(p->metric, p->less);
	record_list_close();
	record_text("measure", w->bytes ? "bandwidth" : w->count ? "count" : "time");
	record_text("counts", w->counts);
	record_text("code_sha256", w->code ? w->code->sha256 : NULL);
	record_truth("groups", w->tell != NULL);
	record_text("sweeps", w->sweep ? w->sweep->name : NULL);
	record_text("sweep_unit", w->sweep ? w->sweep->unit : NULL);
	record_list("parameters");
	parameters_write(w->parameters);
	if (w->sweep)
		sweep_parameters(w->sweep, swept);
	parameters_write(swept);
	record_list_close();
	record_number("instructions", w->instructions);
	record_object("calls");
	for (const struct call *c = w->calls; c && c->name; c++)
		record_number(c->name, c->per_operation);
	record_object_close();
	if (w->counted)
		record_number("counted_address", (uint64_t)(uintptr_t)w->counted);
	else
		record_null("counted_address");
	record_object_close();
}

void workloads_write(void)
{
	record_open("workloads");
	record_list("parameters");
	parameters_write(trial_parameters);
	record_list_close();
	record_list("workloads");
	for (int i = 0; workloads[i]; i++)
		workload_write(workloads[i]);
	record_list_close();
	record_close(1);
}

/* The system's clock now: the laboratory reads its own before it asks and when it hears. */
static void clock_write(void)
{
	record_open("clock");
	record_number("clock_ns", clock_ns());
	record_close(1);
}

static int obey(const char *directory, char *line)
{
	if (!strncmp(line, "trial ", 6))
		trial(directory, line + 6, must_stop);
	else if (!strcmp(line, "describe"))
		fingerprint_write(directory, "");
	else if (!strcmp(line, "list"))
		workloads_write();
	else if (!strcmp(line, "clock"))
		clock_write();
	else if (!strcmp(line, "quit"))
		return 1;
	else if (*line && strncmp(line, "stop ", 5)) /* a stop that came too late is no error */
		refuse(NULL, "a request is: trial ID WORKLOAD name=value ..., describe, list, "
		             "clock, stop ID, or quit");
	return 0;
}

int agent_loop(const char *directory)
{
	char line[LINE_ROOM];
	int  over = 0;

	hello_write();
	while (!over && !input.ended) {
		read_more();
		while (!over && take_line(line))
			over = obey(directory, line);
	}
	return 0;
}

int agent_once(const char *directory, int argc, char *argv[])
{
	char   line[LINE_ROOM] = "1";
	size_t count = 1;

	for (int i = 0; i < argc; i++) {
		int more = snprintf(line + count, sizeof(line) - count, " %s", argv[i]);

		if (more < 0 || count + (size_t)more >= sizeof(line))
			return 2;
		count += (size_t)more;
	}
	return trial(directory, line, NULL);
}
