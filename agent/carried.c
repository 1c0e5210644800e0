/* carried.c -- see carried.h. */
#include "carried.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/files.h"
#include "../base/record.h"
#include "../base/sha256.h"
#include "../workloads/api/workload.h"
#include "system.h"

enum { NAME_MOST = 200 };

static struct {
	char          name[NAME_MOST + 1], path[PATH_MAX];
	int           file; /* 0: none is being sent */
	uint64_t      bytes;
	struct sha256 digest;
	char          why[256]; /* why it cannot be taken; "": it can */
} s;

static void give_up(const char *what, const char *reason)
{
	if (!s.why[0])
		snprintf(s.why, sizeof(s.why), "%.100s: %.100s", what, reason);
}

static int is_name(const char *name)
{
	return *name && *name != '.' && strlen(name) <= NAME_MOST && !strpbrk(name, "/\\:");
}

static void begin(const char *directory, char *arguments)
{
	char *rest = arguments, *name = strtok_r(rest, " ", &rest),
	     *kind = strtok_r(rest, " ", &rest);
	char folder[PATH_MAX];
	int  is_program;

	if (s.file > 0)
		close(s.file);
	memset(&s, 0, sizeof(s));
	sha256_begin(&s.digest);
	if (!name || !kind || !is_name(name)) {
		give_up("a file is sent by", "carry NAME program, or carry NAME data");
		return;
	}
	is_program = !strcmp(kind, "program");
	strcpy(s.name, name);
	if (snprintf(folder, sizeof(folder), "%s/" CARRIED, directory) >= (int)sizeof(folder) ||
	    snprintf(s.path, sizeof(s.path), "%s/%s", folder, name) >= (int)sizeof(s.path)) {
		give_up(name, "its path is too long");
		return;
	}
	if (!directory_is_usable(folder) && directory_make(folder)) {
		give_up(folder, system_error(errno));
		return;
	}
	s.file = file_make(s.path, is_program);
	if (s.file < 0)
		give_up(name, system_error(errno));
}

static int value_of(char digit)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = digit ? strchr(digits, digit) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place: three bytes are no more than their four digits. Returns how many there are, or -1. */
static int from_base64(char *text)
{
	int      length = (int)strcspn(text, "="), count = 0, bits = 0;
	unsigned held = 0;

	for (int i = 0; i < length; i++) {
		int value = value_of(text[i]);

		if (value < 0)
			return -1;
		held = held << 6 | (unsigned)value;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			text[count++] = (char)(held >> bits);
		}
	}
	return count;
}

static void go_on(char *text)
{
	int count = from_base64(text);

	if (s.why[0] || s.file <= 0)
		return;
	if (count < 0) {
		give_up(s.name, "what came is not base64");
	} else if (write_whole(s.file, text, (size_t)count)) {
		give_up(s.name, system_error(errno));
	} else {
		s.bytes += (uint64_t)count;
		sha256_take(&s.digest, text, (size_t)count);
	}
}

static void end(void)
{
	char hex[SHA256_HEX_ROOM];

	if (s.file <= 0)
		give_up("carried", "no file was begun");
	else if (close(s.file))
		give_up(s.name, system_error(errno));
	sha256_end(&s.digest, hex);
	if (s.why[0]) {
		record_open("error");
		record_null("trial");
		record_text("reason", s.why);
	} else {
		record_open("carried");
		record_text("name", s.name);
		record_number("size", s.bytes);
		record_text("sha256", hex);
	}
	record_close(1);
	memset(&s, 0, sizeof(s));
}

int carried_obey(const char *directory, char *line)
{
	if (!strncmp(line, "carry ", 6))
		begin(directory, line + 6);
	else if (!strncmp(line, "bytes ", 6))
		go_on(line + 6);
	else if (!strcmp(line, "carried"))
		end();
	else
		return 0;
	return 1;
}
