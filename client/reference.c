/* reference.c -- the body that every answer must have, fetched before the load begins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "client.h"
#include "response.h"

enum { BODY_MOST = 64 << 20 };

static void keep(void *context, uint64_t offset, const char *bytes, size_t length)
{
	struct reference *reference = context;
	unsigned char    *grown;

	if (!reference->is_fixed)
		return;
	grown = offset + length > BODY_MOST ? NULL : realloc(reference->body, (size_t)offset + length);
	if (!grown) {
		reference->is_fixed = 0; /* too large to be kept */
		return;
	}
	reference->body = grown;
	memcpy(grown + offset, bytes, length);
	reference->length = (size_t)offset + length;
}

int request_write(const struct options *options, enum connection connection, char *into, size_t room)
{
	int length = snprintf(into, room,
	                      "GET %s HTTP/1.%d\r\nHost: %s\r\nUser-Agent: steelyard-client\r\nAccept: */*\r\n%s\r\n",
	                      options->path, connection != CONNECTION_HTTP10, options->host,
	                      connection == CONNECTION_NEW ? "Connection: close\r\n" : "");

	if (length >= 0 && (size_t)length < room)
		return length;
	errno = EMSGSIZE;
	return -1;
}

static int talk(const struct options *options, int file, struct response *response, struct reference *reference)
{
	char request[REQUEST_MOST], buffer[65536];
	int  length = request_write(options, CONNECTION_NEW, request, sizeof(request));

	if (length < 0)
		return -1;
	if (connect(file, (const struct sockaddr *)&options->address, options->address_length) ||
	    send(file, request, (size_t)length, MSG_NOSIGNAL) != length)
		return -1;
	while (response->state != RESPONSE_WHOLE && response->state != RESPONSE_MALFORMED) {
		ssize_t got = recv(file, buffer, sizeof(buffer), 0);

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

static int fetch(const struct options *options, struct reference *reference, char *why, size_t room)
{
	struct response response = {0};
	struct timeval  limit = {(time_t)(options->timeout_ns / SECOND_NS),
	                         (suseconds_t)(options->timeout_ns % SECOND_NS / 1000)};
	int             file = socket(options->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int             failed = 1;

	if (file >= 0) {
		setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	if (file < 0 || talk(options, file, &response, reference))
		snprintf(why, room, "the server does not answer: %s",
		         errno == EAGAIN || errno == EINPROGRESS ? "not in time" : strerror(errno));
	else if (response.state != RESPONSE_WHOLE)
		snprintf(why, room, "the server's answer is no whole HTTP answer");
	else if (response.status < 200 || response.status > 299)
		snprintf(why, room, "the server answers with status %d", response.status);
	else
		failed = 0;
	if (file >= 0)
		close(file);
	response_free(&response);
	return failed ? -1 : 0;
}

int reference_fetch(const struct options *options, struct reference *reference, char *why, size_t room)
{
	struct reference again = {NULL, 0, 1};
	int              failed;

	*reference = (struct reference){NULL, 0, 1};
	failed = fetch(options, reference, why, room) || fetch(options, &again, why, room);
	reference->is_fixed &= again.is_fixed && again.length == reference->length &&
	                       (!again.length || memcmp(again.body, reference->body, again.length) == 0);
	free(again.body);
	return failed ? -1 : 0;
}
