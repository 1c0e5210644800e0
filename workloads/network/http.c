/* http.c -- see http.h. */
#include "http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/workload.h"
#include "door.h"
#include "loopback.h"

enum { HEAD_MOST = 1024, READ_MOST = 65536, PATIENCE_S = 1 };

static const char empty_line[] = "\r\n\r\n";

static struct {
	socket_t listener, connection;
	uint16_t port;
	pid_t    server;
	uint64_t size;
	char     request[HEAD_MOST];
	size_t   request_bytes;
} s = { .listener = -1, .connection = -1, .server = -1 };

/* What the server sends, and what the client reads into. */
static _Alignas(4096) unsigned char body[HTTP_BODY_MOST], bytes[READ_MOST + 1];

/* Server and client each fill their own: a partner has no more of its maker than `s`. */
static void body_fill(void)
{
	uint32_t state = 2463534242u;

	for (size_t i = 0; i < s.size; i++)
		body[i] = (unsigned char)(next_number(&state) >> 24);
}

/* Reads until an empty line has come, at most `room` bytes, and ends them with a NUL. Returns how
 * many came, which may be more than the head; -1 with errno, or 0 where the connection ended. */
static ssize_t read_head(socket_t connection, char *into, size_t room)
{
	size_t got = 0;

	while (got < room) {
		ssize_t more = socket_read(connection, into + got, room - got);

		if (more <= 0)
			return more;
		got += (size_t)more;
		into[got] = 0;
		if (strstr(into, empty_line))
			return (ssize_t)got;
	}
	errno = EMSGSIZE;
	return -1;
}

/* Takes the number of bytes from "GET /SIZE HTTP/1.0"; -1: it is not such a line, or too many. */
static long requested(const char *line)
{
	char *end;
	long  wanted;

	if (strncmp(line, "GET /", 5) || line[5] < '0' || line[5] > '9')
		return -1;
	wanted = strtol(line + 5, &end, 10);
	return wanted > HTTP_BODY_MOST || strncmp(end, " HTTP/1.0\r\n", 11) ? -1 : wanted;
}

/* Head and body leave by one call, so that a small answer is one packet. */
static int answer(socket_t connection, long wanted)
{
	char               head[HEAD_MOST];
	struct socket_part parts[2] = { { .bytes = head }, { .bytes = body } };
	ssize_t            put;

	if (wanted < 0) {
		static const char refusal[] = "HTTP/1.0 400 Bad Request\r\n\r\n";

		return socket_write_whole(connection, refusal, sizeof(refusal) - 1);
	}
	parts[0].count = (size_t)snprintf(head, sizeof(head),
	                                  "HTTP/1.0 200 OK\r\n"
	                                  "Server: steelyard\r\n"
	                                  "Content-Type: application/octet-stream\r\n"
	                                  "Content-Length: %ld\r\n\r\n",
	                                  wanted);
	parts[1].count = (size_t)wanted;
	put = socket_write_parts(connection, parts);
	/* A socket that waits takes all, unless a signal comes. */
	return put == (ssize_t)(parts[0].count + parts[1].count) ? 0 : -1;
}

/* One that asks. Where others can connect too, none that is silent is waited for. */
static socket_t next_connection(struct door *door)
{
	return loopback_is_alone() ? socket_accept(s.listener) : door_next(door, NULL);
}

/* The client ends the connection when it has read all; here that is seen. */
static void end_connection(struct door *door, socket_t connection)
{
	char rest[HEAD_MOST];

	if (!loopback_is_alone()) {
		door_dismiss(door, connection);
		return;
	}
	while (socket_read(connection, rest, sizeof(rest)) > 0)
		continue;
	socket_close(connection);
}

/* The other process: answers each connection, until it is ended: a socket that listens sees no
 * end. */
static void serve(void)
{
	static struct door door;
	char               head[HEAD_MOST + 1];
	socket_t           connection;

	if (sockets_inherit(&s.listener, NULL))
		return;
	/* Connections have this limit from their listener. */
	if (!loopback_is_alone() &&
	    (door_make(&door, s.listener, NULL) || socket_wait_at_most(s.listener, PATIENCE_S)))
		return;
	body_fill();
	while ((connection = next_connection(&door)) >= 0) {
		if (read_head(connection, head, HEAD_MOST) <= 0 ||
		    answer(connection, requested(head)))
			socket_close(connection);
		else
			end_connection(&door, connection);
	}
}

/* Checks the answer's head, and counts how many bytes it is. */
static int check_head(const char *head, size_t *head_bytes)
{
	static const char status[] = "HTTP/1.0 200 ", length[] = "\r\nContent-Length: ";
	const char       *end = strstr(head, empty_line), *found = strstr(head, length);
	char             *rest;

	if (strncmp(head, status, sizeof(status) - 1))
		return fail_check("the server answered '%.*s'", (int)strcspn(head, "\r"), head);
	if (!found || found > end)
		return fail_check("the server did not say how long its answer is");
	if (strtoull(found + sizeof(length) - 1, &rest, 10) != s.size || *rest != '\r')
		return fail_check("the server answered with another length");
	*head_bytes = (size_t)(end - head) + sizeof(empty_line) - 1;
	return 0;
}

/* `count` bytes of the body have come, from its byte number `at`: looks at the first and last. */
static int check_part(const unsigned char *part, size_t count, uint64_t at)
{
	if (at + count > s.size)
		return fail_check("the answer is longer than the server said");
	if (count && (part[0] != body[at] || part[count - 1] != body[at + count - 1]))
		return fail_check("the answer differs from what the server has");
	return 0;
}

static int read_answer(void)
{
	size_t   head_bytes = 0;
	uint64_t at;
	ssize_t  got = read_head(s.connection, (char *)bytes, READ_MOST);
	int      outcome;

	if (got < 0)
		return fail("read");
	if (got == 0)
		return fail_check("the server ended the connection before it had answered");
	if ((outcome = check_head((char *)bytes, &head_bytes)))
		return outcome;
	at = (size_t)got - head_bytes;
	outcome = check_part(bytes + head_bytes, at, 0);
	while (!outcome && at < s.size) {
		got = socket_read(s.connection, bytes, READ_MOST);
		if (got < 0)
			return fail("read");
		if (got == 0)
			return fail_check("the server ended the connection within its answer");
		outcome = check_part(bytes, (size_t)got, at);
		at += (size_t)got;
	}
	return outcome;
}

int http_get(uint64_t operations)
{
	while (operations--) {
		int outcome = loopback_connect(&s.connection, s.port);

		if (outcome)
			return outcome;
		if (socket_write_whole(s.connection, s.request, s.request_bytes))
			return fail("write");
		if ((outcome = read_answer()))
			return outcome;
		if (socket_close(s.connection))
			return fail("close");
		s.connection = -1;
	}
	return 0;
}

const struct call http_calls[] = {
	{ "socket", 1 }, { "connect", 1 }, { "accept", 1 }, { "write", 1 },
	{ "writev", 1 }, { "close", 2 },   { 0 },
};

int http_start(uint64_t size)
{
	int outcome = loopback_listen(&s.listener, &s.port);

	if (outcome)
		return outcome;
	s.size = size;
	body_fill();
	memset(bytes, 0xaa, sizeof(bytes));
	s.request_bytes = (size_t)snprintf(s.request, sizeof(s.request),
	                                   "GET /%llu HTTP/1.0\r\n"
	                                   "Host: 127.0.0.1:%u\r\n"
	                                   "User-Agent: steelyard\r\n\r\n",
	                                   (unsigned long long)size, s.port);
	s.server = partner_start(serve, &s, sizeof(s));
	if (s.server < 0)
		return fail("making the partner");
	/* Only the server listens: if it ends, connections are refused and nobody waits. */
	loopback_close(&s.listener);
	return http_get(1);
}

void http_end(void)
{
	loopback_close(&s.connection);
	loopback_close(&s.listener);
	partner_stop(&s.server);
}
