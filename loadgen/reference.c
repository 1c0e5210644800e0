/* reference.c -- the body that every answer must have, fetched before the load begins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

#include "client.h"
#include "response.h"

enum { BODY_MOST = 64 << 20 };
#define CONTENT_TYPE "Content-Type: application/x-www-form-urlencoded\r\n" /* as curl has it */

static void keep(void *context, uint64_t offset, const char *bytes, size_t length)
{
	struct reference *reference = context;
	unsigned char    *grown;

	if (!reference->is_fixed)
		return;
	grown = offset + length > BODY_MOST ? NULL
	                                    : realloc(reference->body, (size_t)offset + length);
	if (!grown) {
		reference->is_fixed = 0; /* too large to be kept */
		return;
	}
	reference->body = grown;
	memcpy(grown + offset, bytes, length);
	reference->length = (size_t)offset + length;
}

int request_has(const struct options *options, const char *header)
{
	const char *line = options->headers;
	size_t      length = strlen(header);

	for (; line && *line; line = strchr(line, '\n') + 1)
		if (!strncasecmp(line, header, length) && line[length] == ':')
			return 1;
	return 0;
}

/* A header of ours, unless the user has set it. */
static const char *unless_set(const struct options *options, const char *header, const char *line)
{
	return request_has(options, header) ? "" : line;
}

int request_write(const struct options *options, enum connection connection, char *into,
                  size_t room)
{
	const char *headers = options->headers ? options->headers : "";
	char        host[512] = "", length_line[64] = "";
	int         length;

	if (!request_has(options, "Host"))
		snprintf(host, sizeof(host), "Host: %.500s\r\n", options->host);
	if (options->data && !request_has(options, "Content-Length"))
		snprintf(length_line, sizeof(length_line), "Content-Length: %zu\r\n",
		         options->data_length);
	length = snprintf(into, room < REQUEST_MOST ? room : REQUEST_MOST,
	                  "%s %s HTTP/1.%d\r\n%s%s%s%s%s%s%s\r\n",
	                  options->method ? options->method
	                  : options->data ? "POST"
	                                  : "GET",
	                  options->path, connection != CONNECTION_HTTP10, host,
	                  unless_set(options, "User-Agent", "User-Agent: steelyard\r\n"),
	                  unless_set(options, "Accept", "Accept: */*\r\n"),
	                  options->data ? unless_set(options, "Content-Type", CONTENT_TYPE) : "",
	                  length_line, headers,
	                  connection == CONNECTION_NEW ? "Connection: close\r\n" : "");
	if (length < 0 || length >= REQUEST_MOST || (size_t)length + options->data_length > room) {
		errno = EMSGSIZE;
		return -1;
	}
	if (options->data_length)
		memcpy(into + length, options->data, options->data_length);
	return length + (int)options->data_length;
}

/* How long until then; a call with no time left fails as one whose time is over. */
static int limit_call(int file, uint64_t until)
{
	uint64_t       now = clock_ns(), left = now < until ? until - now : 0;
	struct timeval limit = { (time_t)(left / SECOND_NS),
		                 (suseconds_t)(left % SECOND_NS / 1000) };

	if (!limit.tv_sec && !limit.tv_usec) { /* which would be no limit */
		errno = EAGAIN;
		return -1;
	}
	return setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	                       setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))
	               ? -1
	               : 0;
}

/* Returns 0 when the answer is over, or -1 with errno. */
static int listen_to(int file, uint64_t until, struct response *response,
                     struct reference *reference)
{
	char buffer[65536];

	while (response->state != RESPONSE_WHOLE && response->state != RESPONSE_MALFORMED) {
		ssize_t got = limit_call(file, until) ? -1 : recv(file, buffer, sizeof(buffer), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0) {
			response_end(response);
			break;
		}
		response_take(response, buffer, (size_t)got, keep, reference);
	}
	return 0;
}

/* What has come of an answer that is not whole, as "sent ...". */
static void describe(const struct response *response, char *into, size_t room)
{
	unsigned long long received = response->received;

	switch (response->state) {
	case RESPONSE_HEAD:
		if (response->interim)
			snprintf(into, room, "sent %u interim answers (1xx) and no other",
			         response->interim);
		else if (response->head_length)
			snprintf(into, room, "sent %zu bytes of a head that did not end",
			         response->head_length);
		else
			snprintf(into, room, "sent nothing");
		break;
	case RESPONSE_BODY:
		snprintf(into, room, "sent %llu of %llu bytes of a body", received,
		         received + response->left);
		break;
	case RESPONSE_TRAILER:
		snprintf(into, room, "sent a body and %zu bytes of trailers that did not end",
		         response->trailers + response->head_length);
		break;
	default:
		snprintf(into, room, "sent %llu bytes of a body that did not end", received);
	}
}

static int is_too_late(int error)
{
	return error == EAGAIN || error == EINPROGRESS || error == ETIMEDOUT;
}

/* Why nothing, or no whole answer, came: `error` is a call's, or 0. */
static void explain(const struct options *options, const struct response *response, int error,
                    int is_connected, char *why, size_t room)
{
	int  which = is_connected && is_too_late(error) ? -1 : own_limit_of(error);
	char sent[120];

	describe(response, sent, sizeof(sent));
	if (response->lacks_memory || (which >= 0 && !(error == EAGAIN || error == EINPROGRESS)))
		snprintf(why, room, "the load generator's own limit: %s: %s",
		         response->lacks_memory ? "ENOMEM" : own_limits[which].name,
		         response->lacks_memory ? "it has no more memory" : own_limits[which].says);
	else if (is_connected && is_too_late(error) && response->state == RESPONSE_HEAD &&
	         !response->interim && !response->head_length)
		snprintf(why, room,
		         "the server does not answer: not in time (it sent nothing within %g s)",
		         (double)options->timeout_ns / SECOND_NS);
	else if (is_connected && is_too_late(error))
		snprintf(why, room, "the server %s within %g s", sent,
		         (double)options->timeout_ns / SECOND_NS);
	else if (error)
		snprintf(why, room, "the server does not answer: %s",
		         is_too_late(error) ? "not in time" : strerror(error));
	else if (response->state == RESPONSE_MALFORMED)
		snprintf(why, room, "the server %s: it is no whole HTTP answer", response->why);
	else
		snprintf(why, room,
		         "the server %s, and ended the connection: it is no whole HTTP answer",
		         sent);
}

/* Returns 0, or -1 with errno. */
static int send_whole(int file, const char *bytes, size_t length)
{
	while (length) {
		ssize_t sent = send(file, bytes, length, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -1;
		bytes += sent > 0 ? sent : 0;
		length -= sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

static int fetch(const struct options *options, struct reference *reference, char *why, size_t room)
{
	struct response response = { 0 };
	size_t          request_room = REQUEST_MOST + options->data_length;
	char           *request = malloc(request_room);
	uint64_t        until = clock_ns() + options->timeout_ns;
	int             file = socket(options->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int length = request ? request_write(options, CONNECTION_NEW, request, request_room) : -1;
	int is_connected = 0, error = file < 0 || length < 0 ? errno : 0, failed = 1;

	if (!error &&
	    (limit_call(file, until) ||
	     connect(file, (const struct sockaddr *)&options->address, options->address_length)))
		error = errno;
	is_connected = !error;
	if (!error)
		response_begin(&response, !strncmp(request, "HEAD ", 5));
	if (!error && (send_whole(file, request, (size_t)length) ||
	               listen_to(file, until, &response, reference)))
		error = errno;
	if (error || response.state != RESPONSE_WHOLE)
		explain(options, &response, error, is_connected, why, room);
	else if (failure_of_status(response.status) != FAILURES)
		snprintf(why, room, "the server answers with status %d%s", response.status,
		         failure_of_status(response.status) == FAILURE_REDIRECT
		                 ? ", a redirect: load the address that it leads to"
		                 : "");
	else
		failed = 0;
	if (file >= 0)
		close(file);
	free(request);
	response_free(&response);
	return failed ? -1 : 0;
}

int reference_fetch(const struct options *options, struct reference *reference, char *why,
                    size_t room)
{
	struct reference again = { NULL, 0, 1 };
	int              failed;

	*reference = (struct reference){ NULL, 0, 1 };
	failed = fetch(options, reference, why, room) || fetch(options, &again, why, room);
	reference->is_fixed &= again.is_fixed && again.length == reference->length &&
	                       (!again.length ||
	                        memcmp(again.body, reference->body, again.length) == 0);
	free(again.body);
	return failed ? -1 : 0;
}
