/* trial.h -- one trial: what is asked for, the processes that do it, the agent that waits for them.
 *
 *	agent                    trial process (one a copy, a fresh exec of this program)
 *	  begin record
 *	  fork, exec ----------> setup, size batches, warm up
 *	  <--------------------- "ready", operations of each phase
 *	  "operations" --------> (every copy shall do the same work: copy 0's sizes)
 *	  <--------------------- "set"
 *	  closes the gate -----> all copies go at once, measure, tear down
 *	  <--------------------- samples, usage; outcome; exit
 *	  relays, processes, end records
 *
 * With turns=1 its batches alternate with those of other trials, the client hands out the turns:
 *
 *	  waiting record
 *	  "turn ID N" ---------> warms up, N batches of the agreed size
 *	  turn record <--------- "turned", what each took; waits for the next
 *	  "turn ID 0" ---------> no more: samples and the rest, as above
 */
#ifndef STEELYARD_TRIAL_H
#define STEELYARD_TRIAL_H

#include <stdint.h>

#include "../workloads/api/workload.h"
#include "../base/parameters.h"

enum { ID_ROOM = 64, COPIES_MOST = 1024 };

/* What a request line asks for. Settings are kept as they came: the trial processes read them. */
struct request {
	char                   id[ID_ROOM];
	const struct workload *workload;
	const char            *settings[PARAMETERS_SET_MOST]; /* name=value; ends with NULL */
	int                    setting_count;
};

/* The parameters that every workload has; set from a request by request_parse. */
struct trial_settings {
	uint64_t copies;     /* identical processes behind one barrier */
	uint64_t batches;    /* at most, of each phase */
	uint64_t operations; /* in a batch; 0: find out */
	uint64_t batch_ns;   /* wished; 0: find out */
	uint64_t warmup_ns;
	uint64_t limit_ms; /* the whole trial; then it is killed and has timed out */
	uint64_t pad;      /* bytes added to the environment, to move the stack */
	uint64_t place;    /* of place.h */
	uint64_t seed;
	uint64_t turns; /* 1: a batch is done when it is its turn; `batches` are the most */
};

extern struct trial_settings  settings;
extern const struct parameter trial_parameters[];

extern const struct workload *const workloads[]; /* ends with NULL */
const struct workload *workload_find(const char *name);

/* Whether its batches can take turns with those of other trials: it has one metric that is timed,
 * batch by batch, at one size; others only describe. */
int workload_takes_turns(const struct workload *workload);

/* The name of a workload's metric where it has only one. */
const char *only_metric(const struct workload *workload);

/* The unit of what a phase measures. */
const char *unit_of(const struct phase *phase);

/* Sets one "name=value" of a trial of that workload. Returns 0, or -1 with a sentence in `why`. */
int setting_apply(const struct workload *workload, const char *setting, char *why, size_t why_room);

/* The ID in a line that begins as a trial's, or nothing. */
void request_id(const char *line, char id[ID_ROOM]);

/* Splits "ID WORKLOAD name=value ..." in place and checks every setting. Returns 0, or -1 with a
 * sentence in `why`. */
int request_parse(char *line, struct request *request, char *why, size_t why_room);

/* Who may stop a trial while it runs. */
struct listener {
	struct stream *(*stream)(void);                 /* what to wait for, now; NULL: nothing */
	int (*must_stop)(const char *id, int has_come); /* asked at the beginning, and when
	                                                   something has come */
	/* Whether a turn was given to the trial; and of how many batches. */
	int (*next_turn)(const char *id, uint64_t *batches);
};

/* In the agent: runs the trial and writes its records to standard output. A NULL listener never
 * stops it. Working files go under `directory`. Returns an exit status (the end record says
 * why). */
int trial_supervise(const struct request *request, const char *directory,
                    const struct listener *listener);

/* In the trial process, whose arguments trial_supervise made: does the work. */
int trial_process(int argc, char *argv[]);

/* Those arguments, for a partner that is started as a new process; and there, which is part of that
 * trial then: sets what they set. Returns 0, or -1 if they are not understood. */
int trial_arguments(char *const **argv);
int trial_adopt(int argc, char *argv[]);

#endif
