/* wire.c -- see wire.h. */
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../../loadgen/limits.h"
#include "../api/sockets.h"
#include "../api/system.h"
#include "../api/workload.h"

static int too_late(const struct wire *wire)
{
	return fail_check("the server did not answer within %llu ms%s",
	                  (unsigned long long)wire->timeout_ms,
	                  wire->has_begun ? ": it began to, and did not come to an end" : "");
}

/* A call failed: for want of something here, or because of the server. */
static int failed(const char *call)
{
	int which = own_limit_of(errno);

	if (which < 0 || errno == EAGAIN)
		return fail(call);
	return fail_check(
		"the load generator's own limit: %s: %s: this says nothing about the server",
		own_limits[which].name, own_limits[which].says);
}

static int set_up(const struct wire *wire)
{
	struct timeval limit = { .tv_sec = (time_t)(wire->timeout_ms / 1000),
		                 .tv_usec = (suseconds_t)(wire->timeout_ms % 1000 * 1000) };
	int            at_once = 1;

	return setsockopt(wire->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	       setsockopt(wire->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	       setsockopt(wire->socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
}

int wire_open(struct wire *wire, uint16_t port, uint64_t timeout_ms)
{
	struct sockaddr_in address = socket_address(port);

	wire->begin = wire->end = 0;
	wire->until_ns = 0;
	wire->timeout_ms = timeout_ms;
	wire->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (wire->socket < 0)
		return failed("socket");
	if (set_up(wire))
		return fail("setsockopt");
	return connect(wire->socket, (struct sockaddr *)&address, sizeof(address))
	               ? failed("connect")
	               : 0;
}

void wire_close(struct wire *wire)
{
	if (wire->socket >= 0)
		close(wire->socket);
	wire->socket = -1;
}

int wire_send(struct wire *wire, const void *bytes, size_t count)
{
	const char *at = bytes;

	wire->until_ns = 0;
	while (count) {
		ssize_t put = send(wire->socket, at, count, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return fail_check("the server did not read within %llu ms",
			                  (unsigned long long)wire->timeout_ms);
		if (put < 0)
			return failed("send");
		at += put;
		count -= (size_t)put;
	}
	return 0;
}

/* Reads some more behind what is there. */
static int read_more(struct wire *wire)
{
	ssize_t got;

	if (wire->begin) {
		memmove(wire->bytes, wire->bytes + wire->begin, wire->end - wire->begin);
		wire->end -= wire->begin;
		wire->begin = 0;
	}
	if (!wire->until_ns) {
		wire->until_ns = clock_ns() + wire->timeout_ms * 1000000;
		wire->has_begun = 0;
	} else if (clock_ns() > wire->until_ns) {
		return too_late(wire);
	}
	do {
		got = recv(wire->socket, wire->bytes + wire->end, WIRE_MOST - wire->end, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? too_late(wire) : failed("recv");
	if (got == 0)
		return fail_check("the server ended the connection within its answer");
	wire->has_begun = 1;
	wire->end += (size_t)got;
	return 0;
}

int wire_take(struct wire *wire, size_t count, unsigned char **bytes)
{
	if (count > WIRE_MOST)
		return fail_check("the server announced %zu bytes at once, and %d are allowed",
		                  count, WIRE_MOST);
	while (wire->end - wire->begin < count) {
		int outcome = read_more(wire);

		if (outcome)
			return outcome;
	}
	*bytes = wire->bytes + wire->begin;
	wire->begin += count;
	return 0;
}

int wire_line(struct wire *wire, char **line)
{
	unsigned char *end;

	while (!(end = memchr(wire->bytes + wire->begin, '\n', wire->end - wire->begin))) {
		int outcome;

		if (wire->end - wire->begin == WIRE_MOST)
			return fail_check("the server sent a line of more than %d bytes",
			                  WIRE_MOST);
		if ((outcome = read_more(wire)))
			return outcome;
	}
	*line = (char *)wire->bytes + wire->begin;
	wire->begin = (size_t)(end - wire->bytes) + 1;
	if (end > (unsigned char *)*line && end[-1] == '\r')
		end--;
	*end = 0;
	return 0;
}
