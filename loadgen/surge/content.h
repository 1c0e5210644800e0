/* content.h -- the bytes of the file set. They follow from the seed, so every answer can be checked
 * without a copy.
 *
 * Every file is a stretch of one million bytes drawn by the seed, read round and round, from a
 * place of its own.
 */
#ifndef STEELYARD_SURGE_CONTENT_H
#define STEELYARD_SURGE_CONTENT_H

#include "model.h"

enum { POOL = 1 << 20 };

struct content {
	unsigned char *pool;
};

int content_make(struct content *content, const struct surge *surge); /* 0, or -1 with errno */
void content_free(struct content *content);

/* Whether those bytes are the file's from `offset` on. */
int content_is(const struct content *content, uint32_t file, uint64_t offset, const char *bytes,
               size_t length);

/* The path of a file below the document root, with a NUL; a name of its own for the set's
 * digest. */
enum { CONTENT_PATH_ROOM = 32 };
void content_path(uint32_t file, char path[CONTENT_PATH_ROOM]);
#define CONTENT_DIGEST "surge/digest"

/* Writes the file set below that directory, unless its digest stands there. Returns 0, or -1 with
 * errno. */
int content_write(const struct content *content, const struct surge *surge, const char *directory);

#endif
