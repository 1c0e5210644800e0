/* tree.c -- see ../tree.h. */
#include "../tree.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

static const char *path = "/proc/self/exe";

void self_path_set(const char *argv0)
{
	if (access(path, X_OK))
		path = argv0;
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
