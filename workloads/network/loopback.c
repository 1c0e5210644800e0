/* loopback.c -- see loopback.h. */
#include "loopback.h"

#include <errno.h>

#include "../api/system.h"
#include "../api/workload.h"
#include "namespace.h"

enum { BACKLOG = 8 }; /* nobody has more than one connection in the making */

typedef socket_t make_socket(enum socket_kind kind);

/* In setup only: a network that is there may break, and that is a failure. */
static int missing(const char *call)
{
	if (socket_trouble(errno) == SOCKET_NO_NETWORK)
		return unsupported("there is no network on 127.0.0.1: %s: %s", call,
		                   system_error(errno));
	return fail(call);
}

static uint64_t is_alone;

int loopback_is_alone(void)
{
	return is_alone != 0;
}

int loopback_begin(void)
{
	return namespace_alone(&is_alone);
}

static int bind_one(make_socket *make, enum socket_kind kind, socket_t *one, uint16_t *port)
{
	if (sockets_begin())
		return missing("WSAStartup"); /* elsewhere it cannot fail */
	*one = make(kind);
	if (*one < 0)
		return missing("socket");
	return socket_bind(*one, port) ? missing("bind") : 0;
}

static int listen_by(make_socket *make, socket_t *listener, uint16_t *port)
{
	int outcome = bind_one(make, SOCKET_STREAM, listener, port);

	if (outcome)
		return outcome;
	return socket_listen(*listener, BACKLOG) ? missing("listen") : 0;
}

int loopback_bind(enum socket_kind kind, socket_t *one, uint16_t *port)
{
	return bind_one(socket_make, kind, one, port);
}

int loopback_listen(socket_t *listener, uint16_t *port)
{
	int outcome = loopback_begin();

	return outcome ? outcome : listen_by(socket_make, listener, port);
}

/* One process can make both ends: the kernel completes a connection before anybody accepts it. */
static int join(make_socket *make, socket_t listener, uint16_t port, socket_t ends[2])
{
	ends[0] = make(SOCKET_STREAM);
	if (ends[0] < 0)
		return fail("socket");
	if (socket_connect(ends[0], port))
		return missing("connect");
	/* Somebody else may have connected first. */
	for (ends[1] = socket_accept(listener); ends[1] >= 0 && !socket_is_joined(ends[1], ends[0]);
	     ends[1] = socket_accept(listener))
		socket_close(ends[1]);
	if (ends[1] < 0)
		return fail("accept");
	for (int end = 0; end < 2; end++)
		if (socket_send_at_once(ends[end]))
			return fail("setsockopt");
	return 0;
}

/* What is accepted is of its listener's making. */
static int stream_by(make_socket *make, socket_t ends[2])
{
	socket_t listener = -1;
	uint16_t port;
	int      outcome = loopback_begin();

	if (!outcome)
		outcome = listen_by(make, &listener, &port);
	if (!outcome)
		outcome = join(make, listener, port, ends);
	loopback_close(&listener);
	return outcome;
}

int loopback_stream(socket_t ends[2])
{
	return stream_by(socket_make, ends);
}

int loopback_stream_plain(socket_t ends[2])
{
	return stream_by(socket_make_plain, ends);
}

int loopback_join(socket_t ends[2], const uint16_t ports[2])
{
	for (int end = 0; end < 2; end++)
		if (socket_connect(ends[end], ports[!end]))
			return missing("connect");
	/* What others have sent before that. */
	for (int end = 0; end < 2; end++)
		if (socket_discard(ends[end]))
			return fail("recv");
	return 0;
}

int loopback_datagrams(socket_t ends[2])
{
	uint16_t ports[2];
	int      outcome = loopback_begin();

	if (outcome)
		return outcome;
	for (int end = 0; end < 2; end++)
		if ((outcome = loopback_bind(SOCKET_DATAGRAM, &ends[end], &ports[end])))
			return outcome;
	return loopback_join(ends, ports);
}

int loopback_connect(socket_t *one, uint16_t port)
{
	*one = socket_make(SOCKET_STREAM);
	if (*one < 0)
		return fail("socket");
	if (socket_end_by_reset(*one))
		return fail("setsockopt");
	return socket_connect(*one, port) ? fail("connect") : 0;
}

void loopback_close(socket_t *one)
{
	if (*one >= 0)
		socket_close(*one);
	*one = -1;
}
