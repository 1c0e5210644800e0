/* aging.c -- makes a file system old, as filesystem.h says: its free space comes in pieces.
 *
 * The calls are the same on every file system and at each boot. Each round ends with a sync,
 * because delayed allocation would never place what is deleted before it is written.
 */
#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/files.h"
#include "../../base/list.h"
#include "../../base/random.h"
#include "../../workloads/api/mounts.h"
#include "../filesystem.h"

enum { DIRECTORIES = 64, LEAST = 4096, DOUBLINGS = 8, CONTENT = 2 * (LEAST << (DOUBLINGS - 1)) };

struct aging {
	const char *directory;
	uint64_t    draws; /* the state of the generator */
	uint64_t    bytes; /* in the files that there are */
	uint64_t    next;  /* file's number */
	uint64_t   *sizes; /* by number; 0: deleted */
	size_t      room;
	char       *content;
};

static void name_of(const struct aging *a, uint64_t number, char name[PATH_MAX])
{
	snprintf(name, PATH_MAX, "%s/%02u/%llu", a->directory, (unsigned)(number % DIRECTORIES),
	         (unsigned long long)number);
}

/* Sizes are even over the doublings from 4 KiB to 1 MiB. */
static int add(struct aging *a)
{
	uint64_t  unit = (uint64_t)LEAST << random_next(&a->draws) % DOUBLINGS;
	uint64_t  size = unit + random_next(&a->draws) % unit;
	uint64_t *more = list_room(a->sizes, a->next, &a->room, sizeof(*more));
	char      name[PATH_MAX];
	int       file, status;

	if (!more)
		return -1;
	a->sizes = more;
	name_of(a, a->next, name);
	file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return -1;
	status = write_whole(file, a->content + random_next(&a->draws) % (CONTENT - size + 1),
	                     size);
	if (close(file) || status)
		return -1;
	a->sizes[a->next++] = size;
	a->bytes += size;
	return 0;
}

static int fill(struct aging *a, uint64_t bytes)
{
	while (a->bytes < bytes)
		if (add(a))
			return -1;
	return 0;
}

/* Deletes every other file, as it is drawn, until no more bytes are left. */
static int thin(struct aging *a, uint64_t bytes)
{
	char name[PATH_MAX];

	for (uint64_t at = 0; a->bytes > bytes; at++) {
		uint64_t number = at % a->next;

		if (!a->sizes[number] || random_next(&a->draws) & 1)
			continue;
		name_of(a, number, name);
		if (unlink(name))
			return -1;
		a->bytes -= a->sizes[number];
		a->sizes[number] = 0;
	}
	return 0;
}

static int make_directories(const struct aging *a)
{
	char name[PATH_MAX];

	for (unsigned i = 0; i < DIRECTORIES; i++) {
		snprintf(name, sizeof(name), "%s/%02u", a->directory, i);
		if (mkdir(name, 0700))
			return -1;
	}
	return 0;
}

int filesystem_age(const char *directory, uint64_t bytes, uint64_t rounds)
{
	struct aging a = { .directory = directory, .draws = 1 };
	uint64_t     full = bytes / 20 * 14, half = bytes / 20 * 7;
	int          status = -1;

	a.content = malloc(CONTENT);
	if (!a.content)
		return -1;
	for (size_t i = 0; i < CONTENT; i++)
		a.content[i] = (char)random_next(&a.draws);
	if (make_directories(&a) || fill(&a, full) || sync_file_system(directory))
		goto out;
	while (rounds--)
		if (thin(&a, half) || fill(&a, full) || sync_file_system(directory))
			goto out;
	if (thin(&a, half) == 0)
		status = sync_file_system(directory);
out:
	free(a.sizes);
	free(a.content);
	return status;
}

#else

typedef int aging_is_for_linux; /* ISO C wants something in every file */

#endif
