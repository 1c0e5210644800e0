/* door.h -- who may come in at a port: connections are accepted, but only those are handed on that
 * say the trial's token, or, where there is none, that have asked for something.
 *
 * Anybody on the machine can connect to a port of 127.0.0.1. So nothing ever waits for one
 * connection: a silent one is put aside and closed when its time is over, or when there are too
 * many of them, the oldest first. What somebody else's connection costs is its accept and its
 * close.
 */
#ifndef STEELYARD_DOOR_H
#define STEELYARD_DOOR_H

#include <stdint.h>

#include "../api/sockets.h"
#include "order.h"

enum { DOOR_PLACES = 64, DOOR_PATIENCE_S = 5 };

#ifdef _WIN32
/* A machine of one user, and no poll that waits for both kinds. */
struct door {
	socket_t listener;
};

static inline int door_make(struct door *door, socket_t listener, const char *token)
{
	(void)token;
	door->listener = listener;
	return 0;
}

static inline socket_t door_next(struct door *door, union message *said)
{
	(void)said;
	return socket_accept(door->listener);
}

static inline void door_dismiss(struct door *door, socket_t socket)
{
	(void)door;
	socket_close(socket);
}
#else
struct door {
	int         listener; /* door_make makes it one that does not block */
	const char *token;    /* NULL: whoever asks comes in */
	unsigned    count;
	struct {
		int           socket;
		int           is_served; /* it has its answer: whatever comes now ends it */
		size_t        got;
		uint64_t      since_ns;
		union message said;
	} waiting[DOOR_PLACES]; /* the oldest first */
};

/* Returns 0, or -1 with errno. */
int door_make(struct door *door, int listener, const char *token);

/* Waits for the next who may come in. With a token, what was said is in `said`, and has been read;
 * without one, the first bytes are still to be read. Returns its socket, which blocks, or -1 with
 * errno. */
int door_next(struct door *door, union message *said);

/* Takes back one that has its answer, and closes it when the other side has ended it, or soon. */
void door_dismiss(struct door *door, int socket);

/* Closes all that wait, and not the listener. */
void door_close(struct door *door);
#endif

#endif
