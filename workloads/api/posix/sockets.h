/* sockets.h -- the sockets of POSIX, put in line. See ../sockets.h. */
#ifndef STEELYARD_POSIX_SOCKETS_H
#define STEELYARD_POSIX_SOCKETS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../workload.h"

static inline int sockets_begin(void)
{
	return 0;
}

static inline int sockets_inherit(socket_t *mine, socket_t *other)
{
	(void)mine;
	if (!other)
		return 0;
	close(*other);
	*other = -1;
	return 0;
}

static inline socket_t socket_make(enum socket_kind kind)
{
	return socket(AF_INET, kind == SOCKET_STREAM ? SOCK_STREAM : SOCK_DGRAM, 0);
}

static inline socket_t socket_make_plain(enum socket_kind kind)
{
	return socket_make(kind);
}

static inline struct sockaddr_in socket_address(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static inline int socket_bind_any(socket_t one)
{
	struct sockaddr_in address = socket_address(0);

	return bind(one, (struct sockaddr *)&address, sizeof(address));
}

static inline int socket_port(socket_t one, uint16_t *port)
{
	struct sockaddr_in address;
	socklen_t          length = sizeof(address);

	if (getsockname(one, (struct sockaddr *)&address, &length))
		return -1;
	*port = ntohs(address.sin_port);
	return 0;
}

static inline int socket_bind(socket_t one, uint16_t *port)
{
	return socket_bind_any(one) || socket_port(one, port) ? -1 : 0;
}

static inline int socket_listen(socket_t one, int backlog)
{
	return listen(one, backlog);
}

static inline int socket_connect(socket_t one, uint16_t port)
{
	struct sockaddr_in address = socket_address(port);

	return connect(one, (struct sockaddr *)&address, sizeof(address));
}

static inline socket_t socket_accept(socket_t listener)
{
	return accept(listener, NULL, NULL);
}

static inline int socket_close(socket_t one)
{
	return close(one);
}

static inline int socket_is_joined(socket_t one, socket_t other)
{
	struct sockaddr_in mine, its;
	socklen_t          length = sizeof(mine);

	if (getpeername(one, (struct sockaddr *)&mine, &length))
		return 0;
	length = sizeof(its);
	return !getsockname(other, (struct sockaddr *)&its, &length) &&
	       mine.sin_port == its.sin_port && mine.sin_addr.s_addr == its.sin_addr.s_addr;
}

static inline int socket_discard(socket_t one)
{
	char byte;

	while (recv(one, &byte, 1, MSG_DONTWAIT) >= 0)
		continue;
	return errno == EAGAIN ? 0 : -1;
}

static inline int socket_send_at_once(socket_t one)
{
	int at_once = 1;

	return setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
}

static inline int socket_end_by_reset(socket_t one)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	return setsockopt(one, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static inline int sockets_say_goodbye(void)
{
	return 0;
}

static inline int socket_wait_at_most(socket_t one, int patience_s)
{
	struct timeval patience = { .tv_sec = patience_s };

	return setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static inline ssize_t socket_read(socket_t one, void *into, size_t room)
{
	return read(one, into, room);
}

static inline ssize_t socket_write(socket_t one, const void *from, size_t bytes)
{
	return write(one, from, bytes);
}

static inline ssize_t socket_receive(socket_t one, void *into, size_t room)
{
	return recv(one, into, room, 0);
}

static inline ssize_t socket_send(socket_t one, const void *from, size_t bytes)
{
	return send(one, from, bytes, 0);
}

static inline ssize_t socket_write_parts(socket_t one, const struct socket_part parts[2])
{
	struct iovec vectors[2];

	for (int i = 0; i < 2; i++)
		vectors[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)parts[i].bytes,
			                     .iov_len = parts[i].count };
	return writev(one, vectors, 2);
}

static inline int socket_read_whole(socket_t one, void *into, size_t bytes)
{
	return read_whole(one, into, bytes);
}

static inline int socket_write_whole(socket_t one, const void *from, size_t bytes)
{
	return write_whole(one, from, bytes);
}

static inline FILE *socket_stream(socket_t plain, const char *mode)
{
	int   own = dup(plain);
	FILE *stream = own < 0 ? NULL : fdopen(own, mode);

	if (!stream && own >= 0)
		close(own);
	return stream;
}

static inline enum socket_trouble socket_trouble(int error)
{
	switch (error) {
	case ECONNRESET:
		return SOCKET_RESET;
	case EAGAIN:
#if EWOULDBLOCK != EAGAIN
	case EWOULDBLOCK:
#endif
		return SOCKET_TOO_LATE;
	case EINTR:
		return SOCKET_INTERRUPTED;
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
	case EADDRNOTAVAIL:
	case ENETUNREACH:
	case ENOSYS:
		return SOCKET_NO_NETWORK;
	default:
		return SOCKET_FAILED;
	}
}

#endif
