/* random.h -- text that no other process can guess: passwords, tokens, nonces. POSIX only. */
#ifndef STEELYARD_API_RANDOM_H
#define STEELYARD_API_RANDOM_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "workload.h"

enum { RANDOM_MOST = 64 };

/* `bytes` random bytes, at most RANDOM_MOST, as hexadecimal digits and a NUL. Returns an
 * outcome. */
static inline int random_text(char *text, size_t bytes)
{
	unsigned char drawn[RANDOM_MOST];

	errno = EINVAL;
	if (bytes > sizeof(drawn) || getentropy(drawn, bytes))
		return fail("getentropy");
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", drawn[i]);
	return 0;
}

#endif
