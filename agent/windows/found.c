/* found.c -- a program's path; it is not asked for its version. See ../found.h. */
#include "../found.h"

#include <stdio.h>

void program_real_path(const char *path, char *into, size_t room)
{
	snprintf(into, room, "%s", path);
}

void program_version(const char *path, char *into, size_t room)
{
	(void)path;
	if (room)
		into[0] = 0;
}
