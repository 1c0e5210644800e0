/* content.c -- see content.h. */
#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/files.h"
#include "../../base/random.h"

int content_make(struct content *content, const struct surge *surge)
{
	uint64_t state = ~surge->shape.seed;

	content->pool = malloc(POOL);
	if (!content->pool)
		return -1;
	for (size_t i = 0; i < POOL; i += 8) {
		uint64_t number = random_next(&state);

		for (int byte = 0; byte < 8; byte++)
			content->pool[i + (size_t)byte] = (unsigned char)(number >> 8 * byte);
	}
	return 0;
}

void content_free(struct content *content)
{
	free(content->pool);
	content->pool = NULL;
}

/* An odd factor gives every file below a million a place of its own. The piece goes on up to the
 * pool's end. */
static const unsigned char *piece_of(const struct content *content, uint32_t file, uint64_t offset,
                                     size_t *length)
{
	size_t at = ((size_t)file * 0x9e3779b1u + (size_t)offset) % POOL;

	if (*length > POOL - at)
		*length = POOL - at;
	return content->pool + at;
}

int content_is(const struct content *content, uint32_t file, uint64_t offset, const char *bytes,
               size_t length)
{
	while (length) {
		size_t               piece = length;
		const unsigned char *own = piece_of(content, file, offset, &piece);

		if (memcmp(own, bytes, piece) != 0)
			return 0;
		offset += piece;
		bytes += piece;
		length -= piece;
	}
	return 1;
}

static const char *name_in_folder(const char *path)
{
	return strchr(path, '/') + 1;
}

void content_path(uint32_t file, char path[CONTENT_PATH_ROOM])
{
	snprintf(path, CONTENT_PATH_ROOM, "surge/%06u", file);
}

/* A file that is new: the folder may be another user's, who could have put a link there. */
static int open_new(int folder, const char *path)
{
	if (unlinkat(folder, name_in_folder(path), 0) && errno != ENOENT)
		return -1;
	return openat(folder, name_in_folder(path),
	              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

static int write_file(const struct content *content, const struct surge *surge, int folder,
                      uint32_t file)
{
	char path[CONTENT_PATH_ROOM];
	int  into, failed = 0;

	content_path(file, path);
	into = open_new(folder, path);
	if (into < 0)
		return -1;
	for (uint64_t offset = 0; !failed && offset < surge->sizes[file];) {
		size_t               piece = (size_t)(surge->sizes[file] - offset);
		const unsigned char *own = piece_of(content, file, offset, &piece);

		failed = write_whole(into, own, piece);
		offset += piece;
	}
	return close(into) || failed ? -1 : 0;
}

static int has_digest(const struct surge *surge, int folder)
{
	char    found[sizeof(surge->digest)] = "";
	int     file = openat(folder, name_in_folder(CONTENT_DIGEST),
	                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, found, sizeof(found));

	if (file >= 0)
		close(file);
	return got == sizeof(found) - 1 && memcmp(found, surge->digest, sizeof(found) - 1) == 0;
}

/* Last of all, so that it stands for a whole set. */
static int write_digest(const struct surge *surge, int folder)
{
	int into = open_new(folder, CONTENT_DIGEST);
	int failed = into < 0 || write_whole(into, surge->digest, sizeof(surge->digest) - 1);

	return (into >= 0 && close(into)) || failed ? -1 : 0;
}

/* The folder of the set below that directory, made where there is none; -1 with errno. */
static int open_folder(const char *directory)
{
	int above = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder = -1, kept;

	if (above < 0)
		return -1;
	if (!mkdirat(above, "surge", 0755) || errno == EEXIST)
		folder = openat(above, "surge", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	kept = errno;
	close(above);
	errno = kept;
	return folder;
}

int content_write(const struct content *content, const struct surge *surge, const char *directory)
{
	int folder = open_folder(directory), failed = 0, kept;

	if (folder < 0)
		return -1;
	if (!has_digest(surge, folder)) {
		failed = unlinkat(folder, name_in_folder(CONTENT_DIGEST), 0) && errno != ENOENT;
		for (uint32_t i = 0; !failed && i < surge->shape.files; i++)
			failed = write_file(content, surge, folder, i);
		failed = failed || write_digest(surge, folder);
	}
	kept = errno;
	close(folder);
	errno = kept;
	return failed ? -1 : 0;
}
