/* channel.c -- see channel.h. */
#include "channel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

int channel_hear(char *line, size_t room)
{
	size_t count = 0;

	while (count + 1 < room) {
		ssize_t got = read(CHANNEL_DOWN, line + count, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		if (line[count] == '\n') {
			line[count] = 0;
			return 0;
		}
		count++;
	}
	errno = EMSGSIZE;
	return -1;
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
