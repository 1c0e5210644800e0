/* supervise.c -- the agent's side of a trial: starts its processes, waits, relays. See trial.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/record.h"
#include "channel.h"
#include "clock_facts.h"
#include "guest.h"
#include "../base/numbers.h"
#include "sweep.h"
#include "system.h"
#include "tree.h"
#include "trial.h"

enum stage { STARTING, READY, SET, ENDED };

struct copy {
	struct process     process;
	struct stream     *up;
	int                down;
	char              *heard; /* bytes that came up and are not yet whole lines */
	size_t             heard_count, heard_room;
	char              *records; /* lines to relay when all is over */
	size_t             records_count, records_room;
	char               sizes[1024]; /* what "ready" said */
	char               outcome[16], why[512];
	uint64_t           asked_ns, start_ns, end_ns;
	enum stage         stage;
	int                started, reaped, spoke;
	struct process_end end;
};

static struct {
	const struct request *request;
	struct copy          *copies;
	uint64_t              count; /* that were started, or should have been */
	uint64_t    wanted; /* settings.copies, until one ends before its time or all are stopped */
	uint64_t    deadline_ns;
	int         gate[2];
	char        directory[PATH_MAX - 64];
	const char *stopped; /* why the agent ended it: "timed out", "stopped"; or NULL */
	const struct copy *first_ended; /* before its time, so that the others were killed */
	char               why[512];
} g;

static void append(char **bytes, size_t *count, size_t *room, const char *more, size_t more_count)
{
	if (*count + more_count + 1 > *room) {
		*room = 2 * *room + more_count + 1024;
		*bytes = realloc(*bytes, *room);
		if (!*bytes)
			abort();
	}
	memcpy(*bytes + *count, more, more_count);
	*count += more_count;
	(*bytes)[*count] = 0;
}

static int cannot(const char *call)
{
	snprintf(g.why, sizeof(g.why), "%s: %s", call, system_error(errno));
	return -1;
}

/* A fresh start of the program, so that addresses are chosen again; `pad` moves the stack besides.
 */
static int start_process(uint64_t number, int up, int down)
{
	static char                pad[65536 + 8];
	const char                *environment[8] = { pad };
	const char                *arguments[PARAMETERS_SET_MOST + 8] = { NULL };
	char                       copy[24];
	int                        at = 0;
	const struct handed        files[] = { { up, CHANNEL_UP },
		                               { down, CHANNEL_DOWN },
		                               { g.gate[0], CHANNEL_GATE } };
	const struct process_order order = { .arguments = arguments,
		                             .environment = environment,
		                             .files = files,
		                             .file_count = 3,
		                             .is_group = 1,
		                             .dies_with_us = 1,
		                             .complaint = "outcome failed ",
		                             .complains_to = up };

	memcpy(pad, "PAD=", 4);
	memset(pad + 4, 'x', settings.pad);
	pad[4 + settings.pad] = 0;
	guest_pass_on(environment + 1, 7);
	snprintf(copy, sizeof(copy), "%" PRIu64, number);
	arguments[at++] = self_path();
	arguments[at++] = "trial-process";
	arguments[at++] = copy;
	arguments[at++] = g.directory;
	arguments[at++] = g.request->workload->name;
	for (int i = 0; i < g.request->setting_count; i++)
		arguments[at++] = g.request->settings[i];
	return process_start(&order, &g.copies[number].process);
}

static int start_copy(uint64_t number)
{
	struct copy *copy = &g.copies[number];
	int          up[2], down[2], bad;

	if (pipe_make_private(up))
		return cannot("pipe");
	if (pipe_make_private(down)) {
		bad = cannot("pipe");
		close(up[0]);
		close(up[1]);
		return bad;
	}
	copy->asked_ns = clock_ns();
	bad = start_process(number, up[1], down[0]) ? cannot("making a process") : 0;
	copy->started = !bad;
	close(up[1]);
	close(down[0]);
	copy->down = down[1];
	copy->up = stream_open(up[0]);
	if (!copy->up) {
		bad = bad ? bad : cannot("listening to a process");
		close(up[0]);
	}
	return bad;
}

static void kill_all(void)
{
	for (uint64_t i = 0; i < g.count; i++)
		if (g.copies[i].started && !g.copies[i].reaped)
			process_kill(&g.copies[i].process);
}

static void write_turn(char *durations)
{
	uint64_t took_ns[TURN_BATCHES_MOST];
	size_t   count = 0;

	while (count < TURN_BATCHES_MOST && !take_number(&durations, &took_ns[count]))
		count++;
	record_open("turn");
	record_text("trial", g.request->id);
	record_numbers("durations_ns", took_ns, count);
	record_close(1);
}

static void hear_line(struct copy *copy, char *line)
{
	char *rest = line, *word;

	if (*line == '{') {
		append(&copy->records, &copy->records_count, &copy->records_room, line,
		       strlen(line));
		append(&copy->records, &copy->records_count, &copy->records_room, "\n", 1);
		return;
	}
	word = strtok_r(rest, " ", &rest);
	if (!word)
		return;
	if (!strcmp(word, "ready")) {
		snprintf(copy->sizes, sizeof(copy->sizes), "%s", rest);
		copy->stage = READY;
	} else if (!strcmp(word, "set")) {
		copy->stage = SET;
	} else if (!strcmp(word, "turned")) {
		write_turn(rest);
	} else if (!strcmp(word, "span")) {
		if (take_number(&rest, &copy->start_ns) || take_number(&rest, &copy->end_ns))
			copy->start_ns = copy->end_ns = 0;
	} else if (!strcmp(word, "outcome") && (word = strtok_r(rest, " ", &rest))) {
		snprintf(copy->outcome, sizeof(copy->outcome), "%s", word);
		snprintf(copy->why, sizeof(copy->why), "%s", rest);
	}
}

static void hear(struct copy *copy)
{
	char    bytes[65536], *start, *newline;
	ssize_t got = stream_take(copy->up, bytes, sizeof(bytes));

	if (got <= 0) {
		copy->stage = ENDED;
		stream_close(copy->up);
		copy->up = NULL;
		return;
	}
	copy->spoke = 1;
	append(&copy->heard, &copy->heard_count, &copy->heard_room, bytes, (size_t)got);
	start = copy->heard;
	while ((newline = strchr(start, '\n'))) {
		*newline = 0;
		hear_line(copy, start);
		start = newline + 1;
	}
	copy->heard_count -= (size_t)(start - copy->heard);
	memmove(copy->heard, start, copy->heard_count + 1);
}

static void end_all(void)
{
	g.wanted = g.count;
	kill_all();
}

/* Whether every copy has come to `stage`; one that ended before it stops the others. */
static int all_at(enum stage stage)
{
	int all = 1;

	for (uint64_t i = 0; i < g.count; i++) {
		if (g.copies[i].stage == ENDED && g.gate[1] >= 0 && !g.first_ended) {
			g.first_ended = &g.copies[i];
			end_all();
		}
		if (g.copies[i].stage != stage)
			all = 0;
	}
	return all && g.count == g.wanted;
}

/* In one piece, so that each copy reads it in one: its calls are counted. */
static void answer_all(void)
{
	char line[sizeof(g.copies[0].sizes) + 1];
	int  length = snprintf(line, sizeof(line), "%s\n", g.copies[0].sizes);

	for (uint64_t i = 0; i < g.count; i++) {
		write_whole(g.copies[i].down, line, (size_t)length);
		g.copies[i].stage = STARTING;
	}
}

static void stop(const char *how)
{
	g.stopped = how;
	end_all();
}

static int start_next(void)
{
	struct copy *copy = &g.copies[g.count];
	int          bad;

	copy->down = -1;
	bad = start_copy(g.count++);
	if (!copy->up)
		copy->stage = ENDED;
	return bad;
}

/* Nothing is to be waited for while copies are left to be started. */
static int patience_ms(void)
{
	uint64_t now = clock_ns();

	if (g.count < g.wanted || now >= g.deadline_ns)
		return 0;
	return (int)((g.deadline_ns - now) / 1000000) + 1;
}

/* What copies say, and who may stop them. */
static void listen_to_all(const struct listener *listener)
{
	static struct stream *streams[COPIES_MOST + 1];
	static unsigned char  ready[COPIES_MOST + 1];

	for (uint64_t i = 0; i < g.count; i++)
		streams[i] = g.copies[i].up;
	streams[g.count] = listener ? listener->stream() : NULL;
	if (streams_wait(streams, g.count + 1, patience_ms(), ready))
		abort();
	for (uint64_t i = 0; i < g.count; i++)
		if (ready[i])
			hear(&g.copies[i]);
	if (ready[g.count] && listener->must_stop(g.request->id, 1))
		stop("stopped");
}

/* Tells the copy, which is the only one, of the turns that have been given. */
static void give_turns(const struct listener *listener)
{
	uint64_t batches;
	char     line[32];

	while (g.gate[1] < 0 && !g.stopped && listener->next_turn(g.request->id, &batches)) {
		snprintf(line, sizeof(line), "%" PRIu64 "\n", batches);
		write_whole(g.copies[0].down, line, strlen(line));
	}
}

/* By the first copy, of its first size. */
static uint64_t batches_planned(void)
{
	char    *rest = g.copies[0].sizes;
	uint64_t operations, batches;

	return take_number(&rest, &operations) || take_number(&rest, &batches) ? 0 : batches;
}

static void open_gate(void)
{
	close(g.gate[1]);
	g.gate[1] = -1;
	if (settings.turns) {
		record_open("waiting");
		record_text("trial", g.request->id);
		record_number("batches", batches_planned());
		record_close(1);
		thread_gives_way(1);
	}
}

/* Starts all copies, leads them through the gate, and waits until they have ended or are being
 * killed. The limit holds from the beginning: with many copies, starting the last takes long, as
 * those before it work already. */
static void lead(const struct listener *listener)
{
	if (record_error() || (listener && listener->must_stop(g.request->id, 0)))
		stop("stopped");
	while (!g.stopped && !all_at(ENDED)) {
		if (g.count < g.wanted && start_next())
			continue;
		listen_to_all(listener);
		if (clock_ns() >= g.deadline_ns && !g.stopped) {
			snprintf(g.why, sizeof(g.why), "not done after %" PRIu64 " ms",
			         settings.limit_ms);
			stop("timed out");
		}
		if (all_at(READY))
			answer_all();
		if (g.gate[1] >= 0 && all_at(SET))
			open_gate();
		if (settings.turns && listener)
			give_turns(listener);
	}
	thread_gives_way(0);
}

static void reap_all(void)
{
	for (uint64_t i = 0; i < g.count; i++) {
		struct copy *copy = &g.copies[i];

		if (!copy->started)
			continue;
		if (process_wait(&copy->process, &copy->end))
			cannot("waiting for a process");
		copy->reaped = 1;
		/* Whatever the copy left behind in its group: a script's utility, a partner. */
		process_forget(&copy->process);
	}
	processes_reap();
}

/* The monitor that was to start it and did not: it is not there, or cannot work here; or NULL. */
static const char *refuser(const struct copy *copy)
{
	static const char *words[UNDER_MOST + 1];

	return self_under(words) && !copy->spoke ? words[0] : NULL;
}

static const char *copy_status(const struct copy *copy)
{
	if (!copy->started)
		return "not started";
	if (copy->end.was_killed)
		return "killed";
	if (refuser(copy))
		return "unsupported";
	return *copy->outcome ? copy->outcome : "failed";
}

/* Whose outcome is the trial's: the first that ended before the gate, else the worst. */
static const struct copy *spokesman(void)
{
	static const char *const worse[] = { "ok", "unsupported", "failed", "killed",
		                             "not started" };
	const struct copy       *chosen = g.first_ended;

	for (int rank = 0; rank < 5 && !g.first_ended; rank++)
		for (uint64_t i = g.count; i-- > 0;)
			if (!strcmp(copy_status(&g.copies[i]), worse[rank]))
				chosen = &g.copies[i];
	return chosen;
}

static void write_processes(void)
{
	record_open("processes");
	record_text("trial", g.request->id);
	record_list("processes");
	for (uint64_t i = 0; i < g.count; i++) {
		const struct copy *copy = &g.copies[i];

		record_object(NULL);
		record_number("copy", i);
		record_number("asked_ns", copy->asked_ns);
		if (copy->start_ns) {
			record_number("start_ns", copy->start_ns);
			record_number("end_ns", copy->end_ns);
		} else {
			record_null("start_ns");
			record_null("end_ns");
		}
		record_text("status", copy_status(copy));
		if (copy->end.signal)
			record_number("signal", (uint64_t)copy->end.signal);
		else
			record_null("signal");
		record_object_close();
	}
	record_list_close();
	record_close(1);
}

static int write_end(void)
{
	const struct copy *copy = spokesman();
	const char        *status = copy ? copy_status(copy) : "failed", *why = g.why;
	int                signal_number = 0;

	if (g.stopped) {
		status = g.stopped;
	} else if (copy) {
		if (!strcmp(status, "not started"))
			status = "failed";
		else if (copy->end.was_killed) {
			signal_number = copy->end.signal;
			if (*copy->end.reason)
				why = copy->end.reason;
		} else if (*copy->why)
			why = copy->why;
		else if (refuser(copy) && copy->end.status == PROCESS_NOT_EXECUTED)
			snprintf(g.why, sizeof(g.why), "there is no '%s' to start it under",
			         refuser(copy));
		else if (refuser(copy))
			snprintf(g.why, sizeof(g.why),
			         "'%s' did not start it, and ended with status %d", refuser(copy),
			         copy->end.status);
		else if (!*copy->outcome)
			snprintf(g.why, sizeof(g.why), "the process ended with status %d unheard",
			         copy->end.status);
	}
	record_open("end");
	record_text("trial", g.request->id);
	record_text("status", status);
	record_text("reason", *why ? why : NULL);
	if (signal_number)
		record_number("signal", (uint64_t)signal_number);
	else
		record_null("signal");
	record_number("clock_ns", clock_ns());
	record_close(1);
	return !strcmp(status, "ok") ? 0 : !strcmp(status, "unsupported") ? 77 : 1;
}

static void write_settings(const struct parameter *parameters)
{
	for (const struct parameter *p = parameters; p && p->name; p++)
		if (p->text)
			record_text(p->name, p->text);
		else
			record_number(p->name, *p->value);
}

static void write_begin(void)
{
	struct parameter swept[4];

	record_open("begin");
	record_text("trial", g.request->id);
	record_text("workload", g.request->workload->name);
	record_text("code_sha256",
	            g.request->workload->code ? g.request->workload->code->sha256 : NULL);
	record_object("parameters");
	write_settings(trial_parameters);
	write_settings(g.request->workload->parameters);
	if (g.request->workload->sweep) {
		sweep_parameters(g.request->workload->sweep, swept);
		write_settings(swept);
	}
	record_object_close();
	record_number("clock_ns", clock_ns());
	record_close(1);
}

/* Their last records go out, unless the trial was stopped; what is held of them is given back. */
static void relay_all(void)
{
	for (uint64_t i = 0; i < g.count; i++) {
		struct copy *copy = &g.copies[i];

		if (copy->records && !g.stopped)
			record_relay(1, copy->records, copy->records_count);
		stream_close(copy->up);
		if (copy->down >= 0)
			close(copy->down);
		free(copy->records);
		free(copy->heard);
	}
}

static void perform(const struct listener *listener)
{
	g.copies = calloc(settings.copies, sizeof(*g.copies));
	if (!g.copies || pipe_make_private(g.gate)) {
		cannot("making room for the copies");
		return;
	}
	lead(listener);
	reap_all();
	relay_all();
	close(g.gate[0]);
	if (g.gate[1] >= 0)
		close(g.gate[1]);
}

int trial_supervise(const struct request *request, const char *directory,
                    const struct listener *listener)
{
	int status;

	memset(&g, 0, sizeof(g));
	g.request = request;
	g.wanted = settings.copies;
	g.deadline_ns = clock_ns() + settings.limit_ms * 1000000;
	write_begin();
	if (snprintf(g.directory, sizeof(g.directory), "%s/trial-XXXXXX", directory) >=
	    (int)sizeof(g.directory)) {
		errno = ENAMETOOLONG;
		cannot("making the working directory");
	} else if (directory_make_fresh(g.directory)) {
		cannot("making the working directory");
	} else {
		perform(listener);
		tree_remove(g.directory);
	}
	write_processes();
	status = write_end();
	free(g.copies);
	return status;
}
