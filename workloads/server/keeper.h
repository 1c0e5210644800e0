/* keeper.h -- starts a server, and ends it when the trial's process has ended, however that ended.
 *
 * The keeper is a process of its own group, so that a kill of the trial's group leaves it. It hears
 * of the trial's end by a pipe. As a subreaper (prctl(2)) it inherits every orphan of the server,
 * so none can hide by a double fork or in a session of its own.
 */
#ifndef STEELYARD_SERVER_KEEPER_H
#define STEELYARD_SERVER_KEEPER_H

#include <sys/types.h>

struct keeper {
	pid_t pid;    /* the keeper's; 0: there is none */
	pid_t server; /* the first process of the server: to read about, not to signal */
	int   life;  /* the pipe's end that keeps it, and takes what the server is to be sent; -1 */
	int   heard; /* where it tells of the server's end; -1 */
};

/* What to start. */
struct keeper_order {
	char *const *command;
	int          directory; /* where it works: held open */
	int          words;     /* where both outputs go: open, and to be added to */
	const char  *secret;    /* in its environment as STEELYARD_SECRET, which no other user can
	                           read */
	int is_other; /* it gets the rights of this user, and can gain no others; else it has
	                 ours */
	uid_t user;
	gid_t group;
};

/* Returns 0, or -1 with errno. A program that could not be started ends at once with
 * KEEPER_NOT_STARTED. */
enum { KEEPER_NOT_STARTED = 126 };
int keeper_start(struct keeper *keeper, const struct keeper_order *order);

/* Whether the server's first process ends within that many milliseconds (-1: for ever); its wait
 * status then is in *status. */
int keeper_has_ended(struct keeper *keeper, int patience_ms, int *status);

/* Has the keeper send the server's first process that signal, unless it has ended: its number may
 * be another's then, and only the keeper, its parent, knows. Returns 0, or -1 if there is no
 * keeper. */
int keeper_signal(struct keeper *keeper, int number);

/* Kills all that is left, and waits for it. Safe on what was never started. */
void keeper_end(struct keeper *keeper);

#endif
