/* description.c -- see description.h. */
#include "description.h"

#include <stdio.h>
#include <string.h>

#include "../api/workload.h"

int description_read(const char *text, struct description *description)
{
	char         *rest = description->text, *line;
	struct entry *entry = NULL;

	*description = (struct description){ .count = 0 };
	if (!*text)
		return unsupported("no server is named: set server=");
	snprintf(description->text, sizeof(description->text), "%s", text);
	while ((line = strsep(&rest, "\n"))) {
		char *space = strchr(line, ' ');

		if (*line == '\t' && entry) {
			if (!entry->count++)
				entry->lines = line;
			continue;
		}
		if (!*line)
			continue;
		if (description->count == ENTRIES_MOST)
			return fail_check("the server's description has more than %d entries",
			                  ENTRIES_MOST);
		entry = &description->entries[description->count++];
		if (space)
			*space = 0;
		*entry = (struct entry){ .kind = line,
			                 .argument = space ? space + 1 : "",
			                 .lines = "" };
	}
	return 0;
}

const struct entry *description_next(const struct description *description, const char *kind,
                                     const struct entry *last)
{
	int from = last ? (int)(last - description->entries) + 1 : 0;

	for (int i = from; i < description->count; i++)
		if (!strcmp(description->entries[i].kind, kind))
			return &description->entries[i];
	return NULL;
}

const char *description_argument(const struct description *description, const char *kind,
                                 const char *initial)
{
	const struct entry *entry = description_next(description, kind, NULL);

	return entry ? entry->argument : initial;
}

static const struct meaning *meaning_at(const char *text, const struct meaning meanings[])
{
	for (const struct meaning *one = meanings; *text == '{' && one->word; one++) {
		size_t length = strlen(one->word);

		if (!strncmp(text + 1, one->word, length) && text[length + 1] == '}')
			return one;
	}
	return NULL;
}

int expand(const char *text, const struct meaning meanings[], char *into, size_t room)
{
	size_t at = 0;

	while (*text) {
		const struct meaning *meaning = meaning_at(text, meanings);
		const char           *piece = meaning ? meaning->value : text;
		size_t                length = meaning ? strlen(piece) : 1;

		if (at + length >= room)
			return -1;
		memcpy(into + at, piece, length);
		at += length;
		text += meaning ? strlen(meaning->word) + 2 : 1;
	}
	into[at] = 0;
	return (int)at;
}
