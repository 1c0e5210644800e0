/* limits.h -- what the load generator's own side lacked, as distinct from what the server did. */
#ifndef STEELYARD_LIMITS_H
#define STEELYARD_LIMITS_H

/* Errors of a call by which nothing was asked of the server yet, or could not be: each is this
 * process's or this machine's, and says nothing about the server. */
enum { OWN_LIMITS = 15 };
extern const struct own_limit {
	int         error;
	const char *name, *says; /* "EMFILE", "the load generator may have no more open files" */
} own_limits[OWN_LIMITS];

/* Which of them it is; -1 if it tells of the server, or of the network to it. */
int own_limit_of(int error);

#endif
