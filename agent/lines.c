/* lines.c -- see lines.h. */
#include "lines.h"

#include <stdio.h>
#include <string.h>

int lines_have_room(const struct lines *lines)
{
	return lines->count - lines->from <= LINES_ROOM - 1 - LINES_CHUNK; /* and for the zero
	                                                                      behind the last */
}

void lines_add(struct lines *lines, const char *bytes, size_t count)
{
	if (lines->count + count >= LINES_ROOM) {
		lines->count -= lines->from;
		memmove(lines->bytes, lines->bytes + lines->from, lines->count);
		lines->from = 0;
	}
	for (; count--; bytes++) {
		if (*bytes != '\n' && lines->open == LINE_MOST + 2)
			continue;
		lines->bytes[lines->count++] = *bytes;
		lines->open = *bytes == '\n' ? 0 : lines->open + 1;
	}
}

/* Without the carriage return that another system's lines end with. */
static size_t length_to(const char *line, const char *newline)
{
	size_t length = (size_t)(newline - line);

	return length && line[length - 1] == '\r' ? length - 1 : length;
}

char *lines_take(struct lines *lines, size_t *length)
{
	char *line = lines->bytes + lines->from,
	     *newline = memchr(line, '\n', lines->count - lines->from);

	if (!newline)
		return NULL;
	*length = length_to(line, newline);
	line[*length] = 0;
	lines->from = (size_t)(newline + 1 - lines->bytes);
	return line;
}

char *lines_take_open(struct lines *lines, size_t *length)
{
	char *line = lines->bytes + lines->count - lines->open;

	if (!lines->open)
		return NULL;
	*length = lines->open;
	line[*length] = 0;
	lines->count -= lines->open;
	lines->open = 0;
	return line;
}

static void drop(struct lines *lines, char *line, const char *newline)
{
	const char *end = lines->bytes + lines->count;

	memmove(line, newline + 1, (size_t)(end - newline - 1));
	lines->count -= (size_t)(newline + 1 - line);
}

int lines_drop(struct lines *lines, const char *wanted)
{
	char *end = lines->bytes + lines->count, *newline;

	for (char *line = lines->bytes + lines->from;
	     (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
		size_t length = length_to(line, newline);

		if (length == strlen(wanted) && !memcmp(line, wanted, length)) {
			drop(lines, line, newline);
			return 1;
		}
	}
	return 0;
}

int lines_take_out(struct lines *lines, const char *beginning, char *rest, size_t room)
{
	size_t known = strlen(beginning);
	char  *end = lines->bytes + lines->count, *newline;

	for (char *line = lines->bytes + lines->from;
	     (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
		size_t length = length_to(line, newline);

		if (length < known || memcmp(line, beginning, known))
			continue;
		snprintf(rest, room, "%.*s", (int)(length - known), line + known);
		drop(lines, line, newline);
		return 1;
	}
	return 0;
}
