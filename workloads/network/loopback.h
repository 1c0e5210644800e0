/* loopback.h -- sockets on 127.0.0.1, for the workloads of this group.
 *
 * They are in a network namespace of the trial's own, where one can be made (namespace.h): then
 * nobody else can reach them. Elsewhere two that are connected hear nobody else, and who listens
 * waits for nobody who does not ask (door.h). The system chooses the ports. Functions return an
 * outcome: unsupported if a system has no such network. If one fails, the sockets that it has made
 * are in the caller's handles, to be closed.
 */
#ifndef STEELYARD_LOOPBACK_H
#define STEELYARD_LOOPBACK_H

#include "../api/sockets.h"

/* The two ends of a TCP connection, or two UDP sockets that send to each other and hear nobody
 * else. TCP sends at once, however little there is (TCP_NODELAY). loopback_stream_plain is for
 * socket_stream. */
int loopback_stream(socket_t ends[2]);
int loopback_stream_plain(socket_t ends[2]);
int loopback_datagrams(socket_t ends[2]);
/* Two UDP sockets that are bound become such. */
int loopback_join(socket_t ends[2], const uint16_t ports[2]);

/* Goes into a network of the trial's own, if one can be made: all of these do so first but
 * loopback_bind. */
int loopback_begin(void);
/* Whether nobody else can reach what listens. */
int loopback_is_alone(void);

/* A socket that is bound to a port; a TCP socket that also listens. */
int loopback_bind(enum socket_kind kind, socket_t *one, uint16_t *port);
int loopback_listen(socket_t *listener, uint16_t *port);

/* A TCP socket connected to that port. Its close ends the connection by a reset and not by a
 * goodbye, so that nothing of it stays in the kernel (see tcp_connect.c). */
int loopback_connect(socket_t *one, uint16_t port);

/* Closes what is open, and forgets it. */
void loopback_close(socket_t *one);

#endif
