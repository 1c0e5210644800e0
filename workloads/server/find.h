/* find.h -- a server's program, which another distribution, or a newer one, has in another
 * place. */
#ifndef STEELYARD_SERVER_FIND_H
#define STEELYARD_SERVER_FIND_H

#include <limits.h>

/* Finds the program of that absolute path, in which one `*` may stand for a part of a name. Of
 * several matches the newest is taken, by the order of versions: 9.6, 15, 17. A match that is no
 * program is passed over: a directory of version 17 may hold the client alone. Returns 1 with the
 * path in `into`, or 0. */
int find_newest(const char *pattern, char into[PATH_MAX]);

#endif
