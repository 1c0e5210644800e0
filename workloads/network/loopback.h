/* loopback.h -- sockets on 127.0.0.1, for the workloads of this group.
 *
 * The system chooses the ports. Functions return an outcome: unsupported where a system has no such
 * network. What one made before it failed stays in the handles that it was given, to be closed.
 */
#ifndef STEELYARD_LOOPBACK_H
#define STEELYARD_LOOPBACK_H

#include "../api/sockets.h"

/* The two ends of a TCP connection, or two UDP sockets of which each sends to the other and hears
 * nobody else. TCP sends at once, however little is asked for (TCP_NODELAY). Over the ends of
 * loopback_stream_plain socket_stream can be laid. */
int loopback_stream(socket_t ends[2]);
int loopback_stream_plain(socket_t ends[2]);
int loopback_datagrams(socket_t ends[2]);

/* A socket that is bound to a port, and which; and a TCP socket that listens besides. */
int loopback_bind(enum socket_kind kind, socket_t *one, uint16_t *port);
int loopback_listen(socket_t *listener, uint16_t *port);

/* A TCP socket connected to that port, whose close ends the connection by a reset in place of a
 * goodbye, so that nothing of it stays in the kernel (see tcp_connect.c). */
int loopback_connect(socket_t *one, uint16_t port);

/* Closes what is open, and forgets it. */
void loopback_close(socket_t *one);

#endif
