/* record.c -- see record.h. */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"
#include "files.h"

static struct {
	char  *bytes;
	size_t count, room;
	int    comma; /* whether the next member needs one before it */
} line;
static int error; /* of the first write that failed */

FORMAT_OF(1, 2) static void add(const char *format, ...)
{
	for (;;) {
		size_t  left = line.room - line.count;
		va_list arguments;
		int     length;

		va_start(arguments, format);
		length = vsnprintf(left ? line.bytes + line.count : NULL, left, format, arguments);
		va_end(arguments);
		if (length < 0)
			abort();
		if ((size_t)length < left) {
			line.count += (size_t)length;
			return;
		}
		line.room = 2 * line.room + (size_t)length + 256;
		line.bytes = realloc(line.bytes, line.room);
		if (!line.bytes)
			abort();
	}
}

static int is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte <= 0x7e && byte != '"' && byte != '\\';
}

/* Bytes that are not printable ASCII leave as \u00XX: what came from a file or a name can then
 * neither end the string nor reach a terminal. */
static void add_string(const char *text)
{
	add("\"");
	while (*text) {
		int           plain = 0;
		unsigned char byte;

		while (is_plain((unsigned char)text[plain]) && plain < INT_MAX)
			plain++;
		if (plain)
			add("%.*s", plain, text);
		text += plain;
		byte = (unsigned char)*text;
		if (byte == '"' || byte == '\\')
			add("\\%c", byte);
		else if (byte)
			add("\\u%04x", byte);
		text += byte != 0;
	}
	add("\"");
}

static void add_key(const char *key)
{
	if (line.comma)
		add(",");
	line.comma = 1;
	if (key) {
		add_string(key);
		add(":");
	}
}

void record_open(const char *kind)
{
	line.count = 0;
	line.comma = 0;
	add("{");
	record_text("record", kind);
}

void record_text(const char *key, const char *value)
{
	add_key(key);
	if (value)
		add_string(value);
	else
		add("null");
}

void record_number(const char *key, uint64_t value)
{
	add_key(key);
	add("%" PRIu64, value);
}

void record_real(const char *key, double value)
{
	add_key(key);
	add("%.17g", value);
}

void record_numbers(const char *key, const uint64_t values[], size_t count)
{
	add_key(key);
	add("[");
	for (size_t i = 0; i < count; i++)
		add(i ? ",%" PRIu64 : "%" PRIu64, values[i]);
	add("]");
}

void record_known(const char *key, const uint64_t values[], size_t count)
{
	add_key(key);
	add("[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			add(",");
		if (values[i] == UINT64_MAX)
			add("null");
		else
			add("%" PRIu64, values[i]);
	}
	add("]");
	line.comma = 1;
}

void record_truth(const char *key, int value)
{
	add_key(key);
	add(value ? "true" : "false");
}

void record_null(const char *key)
{
	add_key(key);
	add("null");
}

void record_object(const char *key)
{
	add_key(key);
	add("{");
	line.comma = 0;
}

void record_object_close(void)
{
	add("}");
	line.comma = 1;
}

void record_list(const char *key)
{
	add_key(key);
	add("[");
	line.comma = 0;
}

void record_list_close(void)
{
	add("]");
	line.comma = 1;
}

int record_close(int file)
{
	add("}\n");
	return record_relay(file, line.bytes, line.count);
}

int record_relay(int file, const char *lines, size_t count)
{
	if (!error && write_whole(file, lines, count))
		error = errno ? errno : EIO;
	errno = error;
	return error ? -1 : 0;
}

int record_error(void)
{
	return error;
}
