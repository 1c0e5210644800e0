/* parameters.c -- see parameters.h. */
#include "parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* What requests have changed, by its place, and what was there before. */
static struct {
	uint64_t *number_at, number;
	char     *text_at, *text;
} changes[PARAMETERS_SET_MOST];
static int change_count;

void parameters_restore(void)
{
	while (change_count) {
		change_count--;
		if (changes[change_count].text_at) {
			strcpy(changes[change_count].text_at, changes[change_count].text);
			free(changes[change_count].text);
		} else {
			*changes[change_count].number_at = changes[change_count].number;
		}
	}
}

/* Returns 0, or -1 if there is no room to remember it. */
static int remember(const struct parameter *p)
{
	if (change_count == PARAMETERS_SET_MOST)
		return -1;
	changes[change_count].text_at = p->text;
	changes[change_count].text = p->text ? strdup(p->text) : NULL;
	changes[change_count].number_at = p->value;
	changes[change_count].number = p->text ? 0 : *p->value;
	if (p->text && !changes[change_count].text)
		return -1;
	change_count++;
	return 0;
}

static const struct parameter *find(const struct parameter *const tables[], size_t table_count,
                                    const char *name, size_t length)
{
	for (size_t i = 0; i < table_count; i++)
		for (const struct parameter *p = tables[i]; p && p->name; p++)
			if (strlen(p->name) == length && !strncmp(p->name, name, length))
				return p;
	return NULL;
}

int set_parameter_knows(const struct parameter *const tables[], size_t table_count,
                        const char *setting)
{
	const char *equals = strchr(setting, '=');

	return !equals || find(tables, table_count, setting, (size_t)(equals - setting));
}

static int digit(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* A request is words between spaces, so a text comes with its other bytes as %XX. */
static int set_text(const struct parameter *p, const char *value, char *why, size_t why_room)
{
	size_t count = 0;

	for (; *value; value++) {
		char byte = *value;

		if (byte == '%') {
			if (digit(value[1]) < 0 || digit(value[2]) < 0) {
				snprintf(
					why, why_room,
					"parameter %s has a %% that no two digits (0-9, a-f) follow",
					p->name);
				return -1;
			}
			byte = (char)(digit(value[1]) * 16 + digit(value[2]));
			value += 2;
		}
		if (!byte) {
			snprintf(why, why_room, "parameter %s has a zero byte", p->name);
			return -1;
		}
		if (count == p->most) {
			snprintf(why, why_room, "parameter %s is longer than %" PRIu64 " bytes",
			         p->name, p->most);
			return -1;
		}
		p->text[count++] = byte;
	}
	p->text[count] = 0;
	return 0;
}

int set_parameter(const struct parameter *const tables[], size_t table_count, const char *setting,
                  char *why, size_t why_room)
{
	const char             *equals = strchr(setting, '=');
	const struct parameter *p;
	uint64_t                value;

	if (!equals) {
		snprintf(why, why_room, "'%.80s' is not of the form name=value", setting);
		return -1;
	}
	p = find(tables, table_count, setting, (size_t)(equals - setting));
	if (!p) {
		snprintf(why, why_room, "there is no parameter '%.*s'",
		         (int)(equals - setting > 80 ? 80 : equals - setting), setting);
		return -1;
	}
	if (remember(p)) {
		snprintf(why, why_room, "there are more than %d parameters", PARAMETERS_SET_MOST);
		return -1;
	}
	if (p->text)
		return set_text(p, equals + 1, why, why_room);
	if (parse_number(equals + 1, &value) || value < p->least || value > p->most) {
		snprintf(why, why_room,
		         "parameter %s is '%.80s', and must be a whole number from %" PRIu64
		         " to %" PRIu64,
		         p->name, equals + 1, p->least, p->most);
		return -1;
	}
	*p->value = value;
	return 0;
}
