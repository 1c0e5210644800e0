/* channel.c -- see channel.h. */
#include "channel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/files.h"

int channel_say(const char *format, ...)
{
	char    line[1024];
	va_list arguments;
	int     length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0)
		return -1;
	if ((size_t)length >= sizeof(line)) {
		length = sizeof(line) - 1;
		line[length - 1] = '\n';
	}
	return write_whole(CHANNEL_UP, line, (size_t)length);
}

/* In a sandbox a call may take 20 us: what is there is read at once, and lines that follow the one
 * that is asked for are kept. */
int channel_hear(char *line, size_t room)
{
	static char   held[1024];
	static size_t count;

	for (;;) {
		char   *newline = memchr(held, '\n', count);
		size_t  length = newline ? (size_t)(newline - held) : count;
		ssize_t got;

		if (length >= room || (!newline && count == sizeof(held))) {
			errno = EMSGSIZE;
			return -1;
		}
		if (newline) {
			memcpy(line, held, length);
			line[length] = 0;
			count -= length + 1;
			memmove(held, newline + 1, count);
			return 0;
		}
		got = read(CHANNEL_DOWN, held + count, (unsigned)(sizeof(held) - count));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		count += (size_t)got;
	}
}

int channel_wait_for_gate(void)
{
	char    byte;
	ssize_t got;

	do
		got = read(CHANNEL_GATE, &byte, 1);
	while (got < 0 && errno == EINTR);
	return got == 0 ? 0 : -1;
}
