/* sockets.h -- TCP and UDP on 127.0.0.1: what workloads alone use of the one layer (see system.h).
 *
 * On POSIX a socket is a descriptor, and each function is the system call that it stands for, put in
 * line: that call is what workloads time and tests count. On Windows a socket is a handle of Winsock,
 * which no function for descriptors takes; a partner inherits it with its value, and must say so to
 * Winsock.
 *
 * An address is a port, because all are on this machine's own interface. A function that can fail
 * returns -1 with errno; socket_trouble() tells those errors apart that a workload expects.
 */
#ifndef STEELYARD_SOCKETS_H
#define STEELYARD_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef _WIN32
#define SOCKET_CALL
typedef intptr_t socket_t;
#else
#define SOCKET_CALL static inline
typedef int socket_t;
#endif

enum socket_kind { SOCKET_STREAM, SOCKET_DATAGRAM };

struct socket_part {
	const void *bytes;
	size_t      count;
};

/* Before a process's first other call: Winsock must be asked to begin. */
SOCKET_CALL int sockets_begin(void);

/* The same for a partner, which makes the inherited socket `mine` its own, and closes `other`, which its
 * maker keeps (NULL: there is none). */
SOCKET_CALL int sockets_inherit(socket_t *mine, socket_t *other);

/* A socket. It blocks, and partners inherit it. `socket_make_plain` is for socket_stream: on Windows
 * most sockets are made for asynchronous calls, and the C library's streams can do nothing with those. */
SOCKET_CALL socket_t socket_make(enum socket_kind kind);
SOCKET_CALL socket_t socket_make_plain(enum socket_kind kind);

/* Gives it a port that the system chooses, on 127.0.0.1; tells which. */
SOCKET_CALL int      socket_bind(socket_t one, uint16_t *port);
SOCKET_CALL int      socket_listen(socket_t one, int backlog);
SOCKET_CALL int      socket_connect(socket_t one, uint16_t port);
SOCKET_CALL socket_t socket_accept(socket_t listener);
SOCKET_CALL int      socket_close(socket_t one);

/* TCP: sends at once, however little there is to send. */
SOCKET_CALL int socket_send_at_once(socket_t one);
/* TCP: its close ends the connection by a reset in place of a goodbye. Wine says goodbye all the same
 * and resets then, so that the other side may see an end before it can see the reset:
 * sockets_say_goodbye. */
SOCKET_CALL int socket_end_by_reset(socket_t one);
SOCKET_CALL int sockets_say_goodbye(void);
/* A read that has waited so long fails: SOCKET_TOO_LATE. */
SOCKET_CALL int socket_wait_at_most(socket_t one, int patience_s);

/* As read and write of a descriptor, and as send and recv. On Windows the two pairs are the same. */
SOCKET_CALL ssize_t socket_read(socket_t one, void *into, size_t room);
SOCKET_CALL ssize_t socket_write(socket_t one, const void *from, size_t bytes);
SOCKET_CALL ssize_t socket_receive(socket_t one, void *into, size_t room);
SOCKET_CALL ssize_t socket_send(socket_t one, const void *from, size_t bytes);

/* Both parts by one call. Returns the bytes that were taken. */
SOCKET_CALL ssize_t socket_write_parts(socket_t one, const struct socket_part parts[2]);

/* All of it, as read_whole and write_whole: 0, or -1 with errno (0 at the end of the stream). */
SOCKET_CALL int socket_read_whole(socket_t one, void *into, size_t bytes);
SOCKET_CALL int socket_write_whole(socket_t one, const void *from, size_t bytes);

/* A stream of the C library over a plain socket, with a handle of its own, which fclose closes. Returns
 * NULL with errno. */
SOCKET_CALL FILE *socket_stream(socket_t plain, const char *mode);

/* What that errno is to somebody who has called one of these. */
enum socket_trouble {
	SOCKET_FAILED,      /* none of those below */
	SOCKET_RESET,       /* the other side has ended the connection by a reset */
	SOCKET_TOO_LATE,    /* nothing came, for as long as socket_wait_at_most allows */
	SOCKET_INTERRUPTED, /* by a signal: to be called again */
	SOCKET_NO_NETWORK,  /* this system has no such protocol, or no 127.0.0.1 */
};
SOCKET_CALL enum socket_trouble socket_trouble(int error);

#ifndef _WIN32
#include "posix/sockets.h"
#endif

#endif
