/* lines.h -- bytes as they come, into whole lines that wait for their turn.
 *
 * No more than LINES_ROOM bytes wait: who adds asks first whether there is room, and lets the rest
 * stay where it comes from. A line of more than LINE_MOST bytes loses its end and comes as one that
 * is still longer than that.
 */
#ifndef STEELYARD_LINES_H
#define STEELYARD_LINES_H

#include <stddef.h>

enum { LINE_MOST = 32767, LINES_ROOM = 1 << 20, LINES_CHUNK = 4096 };

/* Zeros are an empty one. */
struct lines {
	char   bytes[LINES_ROOM];
	size_t from, count; /* where what waits begins and ends */
	size_t open;        /* bytes of the last line, whose end has not come yet */
};

/* Whether LINES_CHUNK bytes more can be added. */
int lines_have_room(const struct lines *lines);

/* Adds up to LINES_CHUNK bytes. What lines_take returned before is gone then. */
void lines_add(struct lines *lines, const char *bytes, size_t count);

/* Takes the first whole line, without its end ("\n" or "\r\n"), ended by a zero; NULL: there is
 * none. `length` counts zeros within it, too. */
char *lines_take(struct lines *lines, size_t *length);

/* Takes what has come of the line whose end has not; NULL: nothing. For when nothing comes any
 * more. */
char *lines_take_open(struct lines *lines, size_t *length);

/* Takes out the first whole line that is `line`. Returns whether there was one. */
int lines_drop(struct lines *lines, const char *line);

/* Takes out the first whole line that begins with `beginning`, and copies what follows, as far as
 * there is room. Returns whether there was one. */
int lines_take_out(struct lines *lines, const char *beginning, char *rest, size_t room);

#endif
