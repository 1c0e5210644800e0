/* found.c -- see workloads/api/found.h. */
#include "found.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../workloads/api/found.h"
#include "../base/record.h"
#include "../base/sha256.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum { FOUND_MOST = 16, NAME_ROOM = 64, VERSION_ROOM = 128 };

static struct {
	char name[NAME_ROOM], path[PATH_MAX];
} programs[FOUND_MOST];
static int count;

void program_found(const char *name, const char *path)
{
	const char *slash = strrchr(name, '/');

	for (int i = 0; i < count; i++)
		if (!strcmp(programs[i].path, path))
			return;
	if (count == FOUND_MOST)
		return;
	snprintf(programs[count].name, NAME_ROOM, "%.60s", slash ? slash + 1 : name);
	snprintf(programs[count].path, sizeof(programs[count].path), "%s", path);
	count++;
}

static void write_one(uint64_t copy, const char *name, const char *path, int file)
{
	char real[PATH_MAX], hex[SHA256_HEX_ROOM], version[VERSION_ROOM] = "";

	program_real_path(path, real, sizeof(real));
	program_version(real, version, sizeof(version));
	record_open("program");
	record_number("copy", copy);
	record_text("name", name);
	record_text("path", real);
	record_text("sha256", sha256_file(real, hex) ? NULL : hex);
	record_text("version", version[0] ? version : NULL);
	record_close(file);
}

/* Copies are alike, so the first one speaks for all. */
void programs_write(uint64_t copy, int file)
{
	for (int i = 0; copy == 0 && i < count; i++)
		write_one(copy, programs[i].name, programs[i].path, file);
}
