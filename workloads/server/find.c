/* find.c -- see find.h. */
#include "find.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_program(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* Whether the name begins and ends so. */
static int matches(const char *name, const char *begin, const char *end)
{
	size_t length = strlen(name), first = strlen(begin), last = strlen(end);

	return length >= first + last && !strncmp(name, begin, first) &&
	       !strcmp(name + length - last, end);
}

int find_newest(const char *pattern, char into[PATH_MAX])
{
	char above[PATH_MAX], path[PATH_MAX], newest[NAME_MAX + 1] = "", *begin, *end, *rest;
	const struct dirent *entry;
	DIR                 *directory;

	if (snprintf(above, sizeof(above), "%s", pattern) >= (int)sizeof(above) || *above != '/')
		return 0;
	end = strchr(above, '*');
	if (!end)
		return is_program(above) && snprintf(into, PATH_MAX, "%s", above) < PATH_MAX;
	*end++ = 0;
	rest = strchr(end, '/');
	if (rest)
		*rest++ = 0;
	begin = strrchr(above, '/');
	*begin++ = 0;
	directory = opendir(*above ? above : "/");
	if (!directory)
		return 0;
	while ((entry = readdir(directory))) {
		if (*entry->d_name == '.' || !matches(entry->d_name, begin, end) ||
		    (*newest && strverscmp(entry->d_name, newest) <= 0) ||
		    snprintf(path, sizeof(path), "%s/%s%s%s", above, entry->d_name, rest ? "/" : "",
		             rest ? rest : "") >= (int)sizeof(path) ||
		    !is_program(path))
			continue;
		snprintf(into, PATH_MAX, "%s", path);
		snprintf(newest, sizeof(newest), "%s", entry->d_name);
	}
	closedir(directory);
	return *newest != 0;
}
