/* trial.c -- the fresh process that does a trial. See trial.h. */
#include "trial.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/record.h"
#include "batch.h"
#include "channel.h"
#include "found.h"
#include "../base/numbers.h"
#include "place.h"
#include "sweep.h"
#include "system.h"

/* One phase at one size: what makes a record of samples. */
struct piece {
	int               phase;
	uint64_t          point; /* the size; of a workload that is no curve, nothing */
	uint64_t          bytes; /* that an operation moves; 0: what is measured is no bandwidth */
	struct batch_plan plan;
	uint64_t         *durations_ns;
	uint64_t          faults_major; /* while it was measured: whether the system paged */
	uint64_t first_ns; /* when its only batch began, if that was done to find its size */
};

/* What a phase's operations used, this process's and its waited-for children's. */
struct use {
	uint64_t         operations;
	struct resources resources; /* differences */
};

static struct {
	const struct workload *workload;
	char                   directory[PATH_MAX];
	uint64_t               copy;
	struct phase           phases[PHASES_MOST + 1];
	int                    phase_count;
	uint64_t               points[POINTS_MOST];
	int                    point_count; /* 0: no curve */
	struct piece          *pieces;      /* point by point, and phase by phase at each */
	int                    piece_count;
	struct batch_aim       aim;
	int                    batches_asked; /* the request says how many there are to be */
	struct use             uses[PHASES_MOST];
	uint64_t               start_ns, end_ns;
	int                    argc; /* what it was started with */
	char                 **argv;
} t;

const char *trial_directory(void)
{
	return t.directory;
}

uint64_t trial_start_ns(void)
{
	return t.start_ns;
}

uint64_t trial_seed(void)
{
	return settings.seed;
}

/* This process and the children it has waited for, since the last call; added to a phase's use. A
 * partner process counts when teardown waits for it, and so for the last phase. */
static void use_add(struct use *use)
{
	static struct resources last;
	struct resources        now;

	resources_used(&now);
	for (int i = 0; use && i < RESOURCES; i++)
		use->resources.used[i] += now.used[i] - last.used[i];
	last = now;
}

/* A curve of more than one size is sized point by point while it is measured; anything else
 * before. */
static int is_curve(void)
{
	return t.point_count > 1;
}

static int arrange(uint64_t point)
{
	struct sweep *sweep = t.workload->sweep;

	if (!sweep)
		return 0;
	*sweep->value = point;
	return sweep->arrange ? sweep->arrange() : 0;
}

/* What makes ready is no part of what is measured, and so none of what it used: a workload that has
 * such a hook has one phase that is timed. */
static int make_ready(uint64_t operations)
{
	int outcome;

	use_add(&t.uses[0]);
	outcome = t.workload->before(operations);
	use_add(NULL);
	return outcome;
}

static struct batch_hooks hooks_of(const struct piece *piece)
{
	const struct phase *phase = &t.phases[piece->phase];

	return (struct batch_hooks){ .before = t.workload->before && !phase->reported ? make_ready
		                                                                      : NULL,
		                     .run = phase->run };
}

/* A performance is long: nothing is tried first. */
static int size_performance(struct batch_plan *plan)
{
	*plan = (struct batch_plan){ .operations = !t.workload->pass  ? 1
		                                   : t.aim.operations ? t.aim.operations
		                                                      : *t.workload->pass,
		                     .batches = t.batches_asked ? settings.batches
		                                                : t.workload->performances };
	return 0;
}

/* What a phase reports is known when others have been measured. */
static int size_report(struct batch_plan *plan)
{
	*plan = (struct batch_plan){ .operations = 1, .batches = 1 };
	return 0;
}

static int size_piece(struct piece *piece)
{
	struct batch_hooks hooks = hooks_of(piece);
	uint64_t           before = resource_faults_major(), begun_ns = clock_ns();
	int outcome = t.phases[piece->phase].reported ? size_report(&piece->plan)
	              : t.workload->performances      ? size_performance(&piece->plan)
	                                              : batch_size(&t.aim, &hooks, &piece->plan);

	if (outcome)
		return outcome;
	if (piece->plan.first_ns) {
		piece->faults_major = resource_faults_major() - before;
		piece->first_ns = begun_ns;
	}
	piece->bytes = t.workload->bytes && !t.phases[piece->phase].reported ? *t.workload->bytes
	                                                                     : 0;
	t.uses[piece->phase].operations += piece->plan.spent;
	use_add(&t.uses[piece->phase]);
	piece->durations_ns = calloc(settings.turns ? settings.batches : piece->plan.batches,
	                             sizeof(uint64_t));
	return piece->durations_ns ? 0 : fail("calloc");
}

static int lay_out(void)
{
	char why[256];
	int  points;

	if (t.workload->sweep) {
		t.point_count = sweep_points(t.workload->sweep, t.points, why, sizeof(why));
		if (t.point_count < 0)
			return unsupported("%s", why);
		sweep_shuffle(t.points, t.point_count, settings.seed);
	}
	if (is_curve() && settings.turns)
		return fail_check("a curve takes no turns: set from and to alike");
	if (is_curve() && settings.copies > 1)
		return fail_check(
			"several copies of a curve would drift apart: set from and to alike");
	points = t.point_count ? t.point_count : 1;
	t.piece_count = points * t.phase_count;
	t.pieces = calloc((size_t)t.piece_count, sizeof(*t.pieces));
	if (!t.pieces)
		return fail("calloc");
	for (int i = 0; i < t.piece_count; i++) {
		t.pieces[i].point = t.points[i / t.phase_count];
		t.pieces[i].phase = i % t.phase_count;
	}
	return 0;
}

/* Batches of one long operation are few for a median, but the change of turns costs them little. */
enum { TURNS_NS = 24000000 };

static int prepare(void)
{
	int outcome;

	if (settings.turns && (settings.copies > 1 || !workload_takes_turns(t.workload)))
		return fail_check("only a single copy of a workload with one metric takes turns");
	t.aim = (struct batch_aim){ .clock = clock_measure(),
		                    .batch_ns = settings.batch_ns,
		                    .warmup_ns = settings.warmup_ns,
		                    .operations = settings.operations,
		                    .at_once = t.workload->at_once ? *t.workload->at_once : 1,
		                    .batches = settings.batches,
		                    .whole_ns = settings.turns ? TURNS_NS : 0,
		                    .long_ns = t.batches_asked && settings.batches > 1
		                                       ? 0
		                                       : t.workload->long_ns,
		                    .keep_first = settings.copies == 1 };
	if ((outcome = place_take((enum place)settings.place, settings.seed + t.copy)) ||
	    (outcome = lay_out()) || (t.workload->setup && (outcome = t.workload->setup())))
		return outcome;
	if (t.workload->cycle)
		t.aim.cycle = *t.workload->cycle;
	use_add(NULL);
	if (is_curve())
		return 0;
	if ((outcome = arrange(t.points[0])))
		return outcome;
	for (int i = 0; i < t.piece_count && !outcome; i++)
		outcome = size_piece(&t.pieces[i]);
	return outcome;
}

/* A turn begins with a batch that is not measured, or with several where one is not enough: the
 * other's work has cooled what this one needs. What takes longer than others can disturb needs
 * none, nor what is not warmed at all. */
enum { WARMED_MOST_NS = 3000000 };

static uint64_t warming_operations(const struct batch_plan *plan)
{
	uint64_t batches;

	if (!settings.warmup_ns || plan->first_ns || plan->shortest_ns > WARMED_MOST_NS)
		return 0;
	batches = plan->shortest_ns ? t.workload->regains_ns / plan->shortest_ns : 0;
	return plan->operations * (batches ? batches : 1);
}

static int take_turn(struct piece *piece, const struct batch_hooks *hooks, uint64_t batches)
{
	struct batch_plan turn = { .operations = warming_operations(&piece->plan), .batches = 1 };
	uint64_t unmeasured_ns[1], *durations_ns = piece->durations_ns + piece->plan.batches;
	char     said[24 * (TURN_BATCHES_MOST + 1)];
	int      length = 0, outcome;

	if (turn.operations && (outcome = batch_measure(&turn, hooks, unmeasured_ns)))
		return outcome;
	t.uses[0].operations += turn.operations;
	turn = (struct batch_plan){ .operations = piece->plan.operations,
		                    .batches = batches,
		                    .first_ns = piece->plan.first_ns };
	if ((outcome = batch_measure(&turn, hooks, durations_ns)))
		return outcome;
	thread_gives_way(1); /* before the answer: it waits for the next turn, and interrupts none
	                      */
	for (uint64_t i = 0; i < batches; i++)
		length += snprintf(said + length, sizeof(said) - (size_t)length, " %" PRIu64,
		                   durations_ns[i]);
	piece->plan.batches += batches;
	return channel_say("turned%s\n", said) ? fail("agent") : 0;
}

/* Batch by batch, as turns are given, until there are no more. */
static int measure_turns(void)
{
	struct piece      *piece = &t.pieces[0];
	struct batch_hooks hooks = hooks_of(piece);
	uint64_t           before = resource_faults_major(), batches;
	char               line[32], *rest;
	int                outcome = 0;

	piece->plan.batches = 0;
	thread_gives_way(1);
	while (!outcome) {
		if (channel_hear(line, sizeof(line)))
			return fail("agent");
		thread_gives_way(0);
		rest = line;
		if (take_number(&rest, &batches) || batches > TURN_BATCHES_MOST ||
		    piece->plan.batches + batches > settings.batches)
			return fail_check(
				"a turn is of 1 to %d batches, and all are at most %" PRIu64,
				TURN_BATCHES_MOST, settings.batches);
		if (!batches)
			break;
		outcome = take_turn(piece, &hooks, batches);
	}
	piece->faults_major = resource_faults_major() - before;
	t.uses[0].operations += piece->plan.operations * piece->plan.batches;
	if (t.piece_count > 1)
		use_add(&t.uses[0]);
	return outcome || piece->plan.batches ? outcome : fail_check("no turn was given");
}

/* Tells the agent this copy's batch sizes, takes copy 0's in their place, and waits at the gate. */
static int wait_at_gate(void)
{
	char line[1024], *rest = line;
	int  length = 0, outcome, known = is_curve() ? 0 : t.piece_count;

	line[0] = 0;
	for (int i = 0; i < known; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
		                   " %" PRIu64 " %" PRIu64, t.pieces[i].plan.operations,
		                   t.pieces[i].plan.batches);
	if (channel_say("ready%s\n", line) || channel_hear(line, sizeof(line)))
		return fail("agent");
	for (int i = 0; i < known; i++) {
		struct piece *piece = &t.pieces[i];
		uint64_t      own = piece->plan.batches;

		if (take_number(&rest, &piece->plan.operations) ||
		    take_number(&rest, &piece->plan.batches))
			return fail_check("the agent's answer was not understood");
		if (piece->plan.batches > own) {
			free(piece->durations_ns);
			piece->durations_ns = calloc(piece->plan.batches, sizeof(uint64_t));
			if (!piece->durations_ns)
				return fail("calloc");
		}
	}
	outcome = channel_say("set\n");
	return outcome || channel_wait_for_gate() ? fail("agent") : 0;
}

static int measure_piece(int number)
{
	struct piece      *piece = &t.pieces[number];
	struct batch_hooks hooks = hooks_of(piece);
	uint64_t           before;
	int                outcome;

	if (is_curve()) {
		if (number % t.phase_count == 0 && (outcome = arrange(piece->point)))
			return outcome;
		if ((outcome = size_piece(piece)))
			return outcome;
		t.aim.warmup_ns = 0; /* the process is warm; sizing warms each further size */
	}
	before = resource_faults_major() - piece->faults_major;
	outcome = batch_measure(&piece->plan, &hooks, piece->durations_ns);
	if (t.phases[piece->phase].reported)
		piece->durations_ns[0] = *t.phases[piece->phase].reported;
	piece->faults_major = resource_faults_major() - before;
	t.uses[piece->phase].operations += piece->plan.operations * piece->plan.batches;
	if (number + 1 < t.piece_count)
		use_add(&t.uses[piece->phase]);
	return outcome;
}

static int measure(void)
{
	int outcome = 0;

	t.start_ns = t.pieces[0].first_ns ? t.pieces[0].first_ns : clock_ns();
	if (settings.turns)
		outcome = measure_turns();
	for (int i = settings.turns ? 1 : 0; i < t.piece_count && !outcome; i++)
		outcome = measure_piece(i);
	t.end_ns = clock_ns();
	return outcome;
}

/* Whether the figure can be told: what this system does not say of itself cannot. */
static int is_known(const struct piece *piece)
{
	const struct phase *phase = &t.phases[piece->phase];

	return !phase->reported || piece->durations_ns[0] != (phase->unit ? UINT64_MAX : 0);
}

static void write_samples(const struct piece *piece)
{
	record_open("samples");
	record_number("copy", t.copy);
	record_text("metric", t.phases[piece->phase].metric);
	record_text("unit", unit_of(&t.phases[piece->phase]));
	if (t.point_count)
		record_number("point", piece->point);
	else
		record_null("point");
	if (piece->bytes)
		record_number("bytes", piece->bytes);
	else
		record_null("bytes");
	if (resource_is_known(FAULTS_MAJOR))
		record_number("faults_major", piece->faults_major);
	else
		record_null("faults_major");
	record_number("operations", piece->plan.operations);
	record_numbers("durations_ns", piece->durations_ns, piece->plan.batches);
	record_text("code_sha256", t.workload->code ? t.workload->code->sha256 : NULL);
	record_close(CHANNEL_UP);
}

static void write_value(void)
{
	record_open("value");
	record_number("copy", t.copy);
	record_text("metric", only_metric(t.workload));
	record_text("unit", t.workload->counts);
	record_number("value", *t.workload->count);
	record_text("code_sha256", t.workload->code ? t.workload->code->sha256 : NULL);
	record_close(CHANNEL_UP);
}

static void write_usage(const struct phase *phase, const struct use *use)
{
	static const char *const names[RESOURCES] = {
		[USER_NS] = "user_ns",
		[SYSTEM_NS] = "system_ns",
		[FAULTS_MINOR] = "faults_minor",
		[FAULTS_MAJOR] = "faults_major",
		[SWITCHES_VOLUNTARY] = "switches_voluntary",
		[SWITCHES_INVOLUNTARY] = "switches_involuntary",
		[BLOCKS_READ] = "blocks_read",
		[BLOCKS_WRITTEN] = "blocks_written",
	};

	record_open("usage");
	record_number("copy", t.copy);
	record_text("metric", phase->metric);
	record_number("operations", use->operations);
	for (int i = 0; i < RESOURCES; i++)
		if (resource_is_known((enum resource)i))
			record_number(names[i], use->resources.used[i]);
		else
			record_null(names[i]);
	record_close(CHANNEL_UP);
}

static void take_phases(void)
{
	if (t.workload->run)
		t.phases[0] = (struct phase){ .metric = only_metric(t.workload),
			                      .run = t.workload->run };
	else
		for (int i = 0; i < PHASES_MOST && t.workload->phases[i].metric; i++)
			t.phases[i] = t.workload->phases[i];
	while (t.phases[t.phase_count].metric)
		t.phase_count++;
}

/* argv: COPY DIRECTORY WORKLOAD name=value ... */
static int take_arguments(int argc, char *argv[])
{
	char why[256];

	if (argc < 3 || parse_number(argv[0], &t.copy) || !(t.workload = workload_find(argv[2])))
		return -1;
	t.argc = argc;
	t.argv = argv;
	/* Copies do the same in places of their own: two must not write one file. */
	snprintf(t.directory, sizeof(t.directory), "%s/%s", argv[1], argv[0]);
	for (int i = 3; i < argc; i++) {
		if (setting_apply(t.workload, argv[i], why, sizeof(why)))
			return -1;
		t.batches_asked |= !strncmp(argv[i], "batches=", 8);
	}
	return 0;
}

int trial_adopt(int argc, char *argv[])
{
	return take_arguments(argc, argv);
}

int trial_arguments(char *const **argv)
{
	*argv = t.argv;
	return t.argc;
}

static const char *outcome_word(int outcome)
{
	return outcome == OUTCOME_OK            ? "ok"
	       : outcome == OUTCOME_UNSUPPORTED ? "unsupported"
	                                        : "failed";
}

int trial_process(int argc, char *argv[])
{
	int outcome;

	if (take_arguments(argc, argv))
		return 2;
	/* What a workload executes may outlive it, and would keep the agent waiting for the end of
	 * a pipe. */
	for (int file = CHANNEL_UP; file <= CHANNEL_GATE; file++)
		descriptor_keep(file);
	if (directory_make(t.directory)) {
		fail("making the working directory");
		channel_say("outcome failed %s\n", outcome_why());
		return 1;
	}
	take_phases();

	outcome = prepare();
	if (!outcome)
		outcome = wait_at_gate();
	if (!outcome)
		outcome = measure();
	if (t.workload->teardown)
		t.workload->teardown();
	if (t.start_ns && !outcome) {
		use_add(&t.uses[t.phase_count - 1]);
		if (t.workload->count)
			write_value();
		for (int i = 0; i < t.piece_count && !t.workload->count; i++)
			if (is_known(&t.pieces[i]))
				write_samples(&t.pieces[i]);
		for (int i = 0; i < t.phase_count; i++)
			write_usage(&t.phases[i], &t.uses[i]);
		programs_write(t.copy, CHANNEL_UP);
	}
	if (t.workload->tell && (t.start_ns || t.workload->tells_of_failure))
		t.workload->tell(t.copy, CHANNEL_UP);
	if (t.start_ns)
		channel_say("span %" PRIu64 " %" PRIu64 "\n", t.start_ns, t.end_ns);
	channel_say("outcome %s %s\n", outcome_word(outcome), outcome_why());
	return outcome ? 1 : 0;
}
