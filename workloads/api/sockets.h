/* sockets.h -- TCP and UDP on 127.0.0.1.
 *
 * On POSIX a socket is a descriptor, and each function is one system call, put in line: workloads
 * time that call, and tests count it. On Windows a socket is a handle of Winsock, which functions
 * for descriptors do not accept; a partner inherits it with its value, and must tell Winsock so.
 *
 * An address is a port, because all are on this machine. A function that can fail returns -1 with
 * errno; socket_trouble() distinguishes the errors that a workload expects.
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

/* Before any other of these calls in a process: starts Winsock. */
SOCKET_CALL int sockets_begin(void);

/* The same in a partner, which takes over the inherited socket `mine`, and closes `other`, which
 * the first process keeps (NULL: there is none). */
SOCKET_CALL int sockets_inherit(socket_t *mine, socket_t *other);

/* A socket that blocks, and that partners inherit. socket_make_plain makes one for socket_stream:
 * on Windows most sockets are for asynchronous calls, which the C library's streams cannot use. */
SOCKET_CALL socket_t socket_make(enum socket_kind kind);
SOCKET_CALL socket_t socket_make_plain(enum socket_kind kind);

/* Gives it a port on 127.0.0.1 that the system chooses: bind; which one that is: getsockname; and
 * both. */
SOCKET_CALL int socket_bind_any(socket_t one);
SOCKET_CALL int socket_port(socket_t one, uint16_t *port);
SOCKET_CALL int socket_bind(socket_t one, uint16_t *port);
SOCKET_CALL int socket_listen(socket_t one, int backlog);
SOCKET_CALL int socket_connect(socket_t one, uint16_t port);
SOCKET_CALL socket_t socket_accept(socket_t listener);
SOCKET_CALL int socket_close(socket_t one);
/* Whether both are the ends of one connection. */
SOCKET_CALL int socket_is_joined(socket_t one, socket_t other);
/* UDP: throws away what has come so far. */
SOCKET_CALL int socket_discard(socket_t one);

/* TCP: sends at once, however little there is. */
SOCKET_CALL int socket_send_at_once(socket_t one);
/* TCP: its close ends the connection by a reset and not by a goodbye. Wine says goodbye and then
 * resets, so that the other side may see an end first; sockets_say_goodbye returns whether this is
 * so. */
SOCKET_CALL int socket_end_by_reset(socket_t one);
SOCKET_CALL int sockets_say_goodbye(void);
/* A read that has waited so long fails with SOCKET_TOO_LATE. */
SOCKET_CALL int socket_wait_at_most(socket_t one, int patience_s);

/* read and write; recv and send. On Windows the two pairs are the same. */
SOCKET_CALL ssize_t socket_read(socket_t one, void *into, size_t room);
SOCKET_CALL ssize_t socket_write(socket_t one, const void *from, size_t bytes);
SOCKET_CALL ssize_t socket_receive(socket_t one, void *into, size_t room);
SOCKET_CALL ssize_t socket_send(socket_t one, const void *from, size_t bytes);

/* Writes both parts by one call. Returns the number of bytes written. */
SOCKET_CALL ssize_t socket_write_parts(socket_t one, const struct socket_part parts[2]);

/* Like read_whole and write_whole: 0, or -1 with errno (0 at the end of the stream). */
SOCKET_CALL int socket_read_whole(socket_t one, void *into, size_t bytes);
SOCKET_CALL int socket_write_whole(socket_t one, const void *from, size_t bytes);

/* A stream of the C library over a plain socket, with a handle of its own, which fclose closes; or
 * NULL with errno. */
SOCKET_CALL FILE *socket_stream(socket_t plain, const char *mode);

/* What an errno means after one of these calls. */
enum socket_trouble {
	SOCKET_FAILED,      /* anything else */
	SOCKET_RESET,       /* the other side has ended the connection by a reset */
	SOCKET_TOO_LATE,    /* nothing came for as long as socket_wait_at_most allows */
	SOCKET_INTERRUPTED, /* by a signal: call it again */
	SOCKET_NO_NETWORK,  /* this system has no such protocol, or no 127.0.0.1 */
};
SOCKET_CALL enum socket_trouble socket_trouble(int error);

#ifndef _WIN32
#include "posix/sockets.h"
#endif

#endif
