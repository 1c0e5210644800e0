/* tree.c -- see ../tree.h. */
#include "../tree.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../api/system.h"
#include "../../api/workload.h"

static const char *path = "/proc/self/exe";

void self_path_set(const char *argv0)
{
	const char *under[UNDER_MOST + 1], *own;

	if (self_emulator() || access(path, X_OK)) /* an emulator's /proc/self/exe is the emulator */
		path = argv0;
	else if (self_under(under) && (own = realpath(path, NULL))) /* a monitor's would be the monitor */
		path = own;
}

const char *self_emulator(void)
{
	const char *emulator = getenv("STEELYARD_EMULATOR");

	return emulator && *emulator ? emulator : NULL;
}

size_t self_under(const char *words[UNDER_MOST + 1])
{
	static char text[8192];
	const char *given = getenv("STEELYARD_UNDER");
	char       *rest = text, *word;
	size_t      count = 0;

	snprintf(text, sizeof(text), "%s", given ? given : "");
	while (count < UNDER_MOST && (word = strtok_r(rest, "\n", &rest)))
		words[count++] = word;
	words[count] = NULL;
	return count;
}

int refuse_emulator(void)
{
	return self_emulator() ? unsupported("what it executes would not run under the emulator") : 0;
}

const char *self_path(void)
{
	return path;
}

static int remove_one(const char *name, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	remove(name);
	return 0;
}

void tree_remove(const char *directory)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
