/* tree.c -- removes trees. See ../tree.h. */
#include "../tree.h"

#include <stdio.h>
#include <string.h>

#include "../../workloads/api/windows/error.h"

static void remove_one(const char *name, const WIN32_FIND_DATAA *found)
{
	if (found->dwFileAttributes & FILE_ATTRIBUTE_READONLY)
		SetFileAttributesA(name, FILE_ATTRIBUTE_NORMAL);
	if (!(found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
		DeleteFileA(name);
	else if (found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
		RemoveDirectoryA(name); /* the link, and not what it leads to */
	else
		tree_remove(name);
}

void tree_remove(const char *directory)
{
	char             name[MAX_PATH * 2];
	WIN32_FIND_DATAA found;
	HANDLE           search;

	if (snprintf(name, sizeof(name), "%s\\*", directory) >= (int)sizeof(name))
		return;
	search = FindFirstFileA(name, &found);
	if (search != INVALID_HANDLE_VALUE) {
		do {
			if (!strcmp(found.cFileName, ".") || !strcmp(found.cFileName, ".."))
				continue;
			if (snprintf(name, sizeof(name), "%s\\%s", directory, found.cFileName) <
			    (int)sizeof(name))
				remove_one(name, &found);
		} while (FindNextFileA(search, &found));
		FindClose(search);
	}
	RemoveDirectoryA(directory);
}

void tree_removed_if_killed(const char *directory)
{
	(void)directory;
}

void tree_removed(void)
{
}
