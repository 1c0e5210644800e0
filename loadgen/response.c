/* response.c -- see response.h. RFC 9112, as far as a client needs it . */
#include "response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void response_begin(struct response *response, int is_bodiless)
{
	response_free(response);
	memset(response, 0, sizeof(*response));
	response->is_bodiless = is_bodiless;
}

void response_free(struct response *response)
{
	free(response->head);
	response->head = NULL;
	response->head_length = 0;
}

static void malformed_as(struct response *response, const char *why)
{
	response->state = RESPONSE_MALFORMED;
	response->why = why;
}

static void malformed(struct response *response)
{
	malformed_as(response, "sent what is no answer of HTTP");
}

static void too_long(struct response *response)
{
	malformed_as(response, response->state == RESPONSE_HEAD
	                               ? "sent a head of more than 16384 bytes"
	                       : response->state == RESPONSE_TRAILER
	                               ? "sent trailers of more than 16384 bytes"
	                               : "sent a chunk's first line of more than 16384 bytes");
}

/* Digits of that base up to the end of a line, a space or a semicolon. Returns 0, or -1. */
static int read_size(const char *text, const char *end, unsigned base, uint64_t *size)
{
	const char *begin = text;

	*size = 0;
	for (; text < end; text++) {
		unsigned digit;

		if (*text >= '0' && *text <= '9')
			digit = (unsigned)(*text - '0');
		else if ((*text | 32) >= 'a' && (*text | 32) <= 'f')
			digit = (unsigned)((*text | 32) - 'a') + 10;
		else
			break;
		if (digit >= base || *size > (UINT64_MAX >> 5) / base)
			return -1;
		*size = *size * base + digit;
	}
	if (text == begin)
		return -1;
	return text == end || *text == ' ' || *text == '\t' || *text == ';' ? 0 : -1;
}

static int has_word(const char *value, const char *end, const char *word)
{
	size_t length = strlen(word);

	for (; value + length <= end; value++)
		if (strncasecmp(value, word, length) == 0)
			return 1;
	return 0;
}

static void read_header(struct response *response, const char *line, const char *end,
                        int *is_chunked, uint64_t *length)
{
	const char *colon = memchr(line, ':', (size_t)(end - line));
	const char *value;
	size_t      name;
	uint64_t    size;

	if (!colon)
		return malformed(response);
	name = (size_t)(colon - line);
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	if (name == 14 && strncasecmp(line, "content-length", name) == 0) {
		if (read_size(value, end, 10, &size) ||
		    (*length != LENGTH_UNKNOWN && *length != size))
			return malformed(response);
		*length = size;
	} else if (name == 17 && strncasecmp(line, "transfer-encoding", name) == 0) {
		*is_chunked = has_word(value, end, "chunked");
	} else if (name == 10 && strncasecmp(line, "connection", name) == 0) {
		if (has_word(value, end, "close"))
			response->closes = 1;
		else if (has_word(value, end, "keep-alive"))
			response->closes = 0;
	}
}

/* `head` is whole, up to and with its empty line. */
static void read_head(struct response *response, const char *head, const char *end)
{
	int         is_chunked = 0;
	uint64_t    length = LENGTH_UNKNOWN;
	const char *line = head, *stop;

	if (end - head < 13 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ')
		return malformed(response);
	response->closes = head[7] == '0';
	response->status = 0;
	for (int i = 9; i < 12; i++) {
		if (head[i] < '0' || head[i] > '9')
			return malformed(response);
		response->status = response->status * 10 + (head[i] - '0');
	}
	for (int is_first = 1;; is_first = 0) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == line || (stop == line + 1 && *line == '\r'))
			break;
		if (!is_first)
			read_header(response, line, stop[-1] == '\r' ? stop - 1 : stop, &is_chunked,
			            &length);
		if (response->state == RESPONSE_MALFORMED)
			return;
		line = stop + 1;
	}
	if (response->status < 200) {
		response->state = RESPONSE_HEAD; /* an interim answer: the real one follows */
		if (++response->interim > INTERIM_MOST)
			malformed_as(response, "sent more than 16 interim answers (1xx)");
	} else if (response->is_bodiless || response->status == 204 || response->status == 304) {
		response->state = RESPONSE_WHOLE;
	} else if (is_chunked) {
		response->state = RESPONSE_CHUNK_SIZE;
	} else if (length == LENGTH_UNKNOWN) {
		response->state = RESPONSE_UNTIL_END;
		response->closes = 1;
	} else {
		response->left = length;
		response->state = length ? RESPONSE_BODY : RESPONSE_WHOLE;
	}
}

/* Where the empty line of a head ends, or the first line; NULL if it is not whole. */
static const char *end_of_head(const char *bytes, size_t length)
{
	const char *end = bytes + length, *line = bytes;

	while ((line = memchr(line, '\n', (size_t)(end - line)))) {
		line++;
		if (line < end && *line == '\n')
			return line + 1;
		if (line + 1 < end && *line == '\r' && line[1] == '\n')
			return line + 2;
	}
	return NULL;
}

static const char *end_of_line(const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\n', length);

	return end ? end + 1 : NULL;
}

static void read_line(struct response *response, const char *line, const char *end)
{
	uint64_t size;

	for (end--; end > line && end[-1] == '\r'; end--)
		;
	switch (response->state) {
	case RESPONSE_CHUNK_SIZE:
		if (read_size(line, end, 16, &size))
			return malformed(response);
		response->left = size;
		response->state = size ? RESPONSE_CHUNK : RESPONSE_TRAILER;
		break;
	case RESPONSE_CHUNK_END:
		if (line != end)
			return malformed(response);
		response->state = RESPONSE_CHUNK_SIZE;
		break;
	default: /* RESPONSE_TRAILER */
		response->trailers += (size_t)(end - line) + 1;
		if (line == end)
			response->state = RESPONSE_WHOLE;
		else if (response->trailers > TRAILERS_MOST)
			too_long(response);
		break;
	}
}

static void refuse_text(struct response *response, size_t length)
{
	response->lacks_memory = length <= HEAD_MOST;
	too_long(response);
}

/* Takes a head or a line, keeping what is not whole. Returns how many of the bytes it took. */
static size_t take_text(struct response *response, const char *bytes, size_t length)
{
	int         is_head = response->state == RESPONSE_HEAD;
	const char *text = bytes, *end;
	size_t      kept = response->head_length, all = length;

	if (kept) {
		char *grown = kept + length > HEAD_MOST ? NULL
		                                        : realloc(response->head, kept + length);

		if (!grown) {
			refuse_text(response, kept + length);
			return length;
		}
		memcpy(grown + kept, bytes, length);
		response->head = grown;
		text = grown;
		all = kept + length;
	}
	end = is_head ? end_of_head(text, all) : end_of_line(text, all);
	if (!end) {
		if (!kept && (length > HEAD_MOST || !(response->head = malloc(length))))
			refuse_text(response, length);
		else if (!kept)
			memcpy(response->head, bytes, length);
		response->head_length = all;
		return length;
	}
	if (is_head)
		read_head(response, text, end);
	else
		read_line(response, text, end);
	length = (size_t)(end - text) - kept;
	response_free(response);
	return length;
}

void response_take(struct response *response, const char *bytes, size_t length, response_body *body,
                   void *context)
{
	while (length) {
		size_t taken = length;

		switch (response->state) {
		case RESPONSE_BODY:
		case RESPONSE_CHUNK:
			if (taken > response->left)
				taken = (size_t)response->left;
			/* fall through */
		case RESPONSE_UNTIL_END:
			if (body)
				body(context, response->received, bytes, taken);
			response_skipped(response, taken);
			break;
		case RESPONSE_WHOLE:
			return malformed_as(response, "sent more than its answer");
		case RESPONSE_MALFORMED:
			return;
		default:
			taken = take_text(response, bytes, length);
			break;
		}
		bytes += taken;
		length -= taken;
	}
}

uint64_t response_skippable(const struct response *response)
{
	if (response->state == RESPONSE_UNTIL_END)
		return UINT64_MAX;
	return response->state == RESPONSE_BODY || response->state == RESPONSE_CHUNK
	               ? response->left
	               : 0;
}

void response_skipped(struct response *response, uint64_t length)
{
	response->received += length;
	if (response->state != RESPONSE_BODY && response->received > BODY_UNANNOUNCED_MOST)
		return malformed_as(response,
		                    "sent more than 1 GiB of a body without saying how long it is");
	if (response->state == RESPONSE_UNTIL_END)
		return;
	response->left -= length;
	if (!response->left)
		response->state = response->state == RESPONSE_BODY ? RESPONSE_WHOLE
		                                                   : RESPONSE_CHUNK_END;
}

void response_end(struct response *response)
{
	if (response->state == RESPONSE_UNTIL_END)
		response->state = RESPONSE_WHOLE;
}
