/* description.h -- the lines that describe a server, and the words {like_this} in them.
 *
 * A line without a tab before it begins an entry: its kind and its argument. Lines with a tab
 * before them follow it: a file's contents, or a command's words, one each.
 */
#ifndef STEELYARD_SERVER_DESCRIPTION_H
#define STEELYARD_SERVER_DESCRIPTION_H

#include <stddef.h>

enum { ENTRIES_MOST = 64, EXPANDED_MOST = 8192 };

struct entry {
	const char *kind;
	const char *argument; /* what follows the kind and a space; or empty */
	const char *lines;    /* its lines one after another, each with a zero at its end */
	int         count;    /* of its lines */
};

struct description {
	char         text[6001];
	struct entry entries[ENTRIES_MOST];
	int          count;
};

/* What stands for a word in braces. Braces around other words stay as they are. */
struct meaning {
	const char *word, *value;
};

/* Returns 0, or what unsupported() or fail_check() returned. */
int description_read(const char *text, struct description *description);
/* The next entry of that kind behind `last` (NULL: the first); or NULL. */
const struct entry *description_next(const struct description *description, const char *kind,
                                     const struct entry *last);
/* The argument of the first entry of that kind, or `initial`. */
const char *description_argument(const struct description *description, const char *kind,
                                 const char *initial);
/* Writes the text with meanings in place of words. Returns its length, or -1 where there is no
 * room. */
int expand(const char *text, const struct meaning meanings[], char *into, size_t room);

#endif
