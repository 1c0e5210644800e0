/* files.c -- the files of Windows. See ../files.h. */
#include "../files.h"

#include <errno.h>
#include <io.h>

enum { WRITTEN_MOST = 65536 }; /* at once: what a pipe has room for */

int read_whole(int file, void *into, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		size_t left = bytes - got;
		int    more = _read(file, (char *)into + got,
		                    left < INT32_MAX ? (unsigned)left : INT32_MAX);

		if (more == 0)
			errno = 0;
		if (more <= 0)
			return -1;
		got += (size_t)more;
	}
	return 0;
}

int write_whole(int file, const void *from, size_t bytes)
{
	size_t put = 0;

	while (put < bytes) {
		size_t left = bytes - put;
		int    more = _write(file, (const char *)from + put,
		                     left < WRITTEN_MOST ? (unsigned)left : WRITTEN_MOST);

		if (more <= 0)
			return -1;
		put += (size_t)more;
	}
	return 0;
}
