/* loopback.c -- see loopback.h. */
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../workload.h"

enum { BACKLOG = 8 }; /* nobody has more than one connection in the making */

/* In setup only: a network that is there may break, and that is a failure. */
static int missing(const char *call)
{
	if (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == EADDRNOTAVAIL ||
	    errno == ENETUNREACH || errno == ENOSYS)
		return unsupported("there is no network on 127.0.0.1: %s: %s", call,
		                   strerror(errno));
	return fail(call);
}

int loopback_bind(int type, int *socket_file, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*socket_file = socket(AF_INET, type, 0);
	if (*socket_file < 0)
		return missing("socket");
	if (bind(*socket_file, (struct sockaddr *)address, sizeof(*address)))
		return missing("bind");
	if (getsockname(*socket_file, (struct sockaddr *)address, &length))
		return fail("getsockname");
	return 0;
}

int loopback_listen(int *socket_file, struct sockaddr_in *address)
{
	int outcome = loopback_bind(SOCK_STREAM, socket_file, address);

	if (outcome)
		return outcome;
	return listen(*socket_file, BACKLOG) ? missing("listen") : 0;
}

/* One process can make both ends: the kernel completes a connection before anybody accepts it. */
static int join(int listener, const struct sockaddr_in *address, int ends[2])
{
	int at_once = 1;

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (ends[0] < 0)
		return fail("socket");
	if (connect(ends[0], (const struct sockaddr *)address, sizeof(*address)))
		return missing("connect");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		return fail("accept");
	for (int end = 0; end < 2; end++)
		if (setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)))
			return fail("setsockopt");
	return 0;
}

int loopback_stream(int ends[2])
{
	struct sockaddr_in address;
	int                listener = -1, outcome = loopback_listen(&listener, &address);

	if (!outcome)
		outcome = join(listener, &address, ends);
	loopback_close(&listener);
	return outcome;
}

int loopback_datagrams(int ends[2])
{
	struct sockaddr_in addresses[2];
	int                outcome;

	for (int end = 0; end < 2; end++)
		if ((outcome = loopback_bind(SOCK_DGRAM, &ends[end], &addresses[end])))
			return outcome;
	for (int end = 0; end < 2; end++)
		if (connect(ends[end], (struct sockaddr *)&addresses[!end], sizeof(*addresses)))
			return missing("connect");
	return 0;
}

int loopback_connect(int *socket_file, const struct sockaddr_in *address)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	*socket_file = socket(AF_INET, SOCK_STREAM, 0);
	if (*socket_file < 0)
		return fail("socket");
	if (setsockopt(*socket_file, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		return fail("setsockopt");
	if (connect(*socket_file, (const struct sockaddr *)address, sizeof(*address)))
		return fail("connect");
	return 0;
}

void loopback_close(int *socket_file)
{
	if (*socket_file >= 0)
		close(*socket_file);
	*socket_file = -1;
}
