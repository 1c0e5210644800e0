/* loopback.h -- sockets on 127.0.0.1, for the workloads of this group.
 *
 * The kernel chooses the ports. Functions return an outcome: unsupported where a system has no such
 * network. What one made before it failed stays in the handles that it was given, to be closed.
 */
#ifndef STEELYARD_LOOPBACK_H
#define STEELYARD_LOOPBACK_H

#include <netinet/in.h>

/* The two ends of a TCP connection, or two UDP sockets of which each sends to the other and hears
 * nobody else. TCP sends at once, however little is asked for (TCP_NODELAY). */
int loopback_stream(int ends[2]);
int loopback_datagrams(int ends[2]);

/* A socket of `type` (SOCK_STREAM, SOCK_DGRAM), bound to a port, and where; and a TCP socket that
 * listens besides. */
int loopback_bind(int type, int *socket_file, struct sockaddr_in *address);
int loopback_listen(int *socket_file, struct sockaddr_in *address);

/* A TCP socket connected to `address`, whose close ends the connection by a reset in place of a
 * goodbye, so that nothing of it stays in the kernel (see tcp_connect.c). */
int loopback_connect(int *socket_file, const struct sockaddr_in *address);

/* Closes what is open, and forgets it. */
void loopback_close(int *socket_file);

#endif
