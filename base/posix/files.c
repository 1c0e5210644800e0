/* files.c -- the files of POSIX. See ../files.h. */
#include "../files.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

int read_whole(int file, void *into, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = read(file, (char *)into + got, bytes - got);

		if (more < 0 && errno == EINTR)
			continue;
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
	const char *rest = from;

	while (bytes) {
		ssize_t put = write(file, rest, bytes);

		if (put < 0 && errno == EAGAIN) {
			/* A console as the stream may not block. */
			poll(&(struct pollfd){ .fd = file, .events = POLLOUT }, 1, 1000);
			continue;
		}
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		rest += put;
		bytes -= (size_t)put;
	}
	return 0;
}

uint64_t files_take(uint64_t count)
{
	struct rlimit limit;
	rlim_t        needed = (rlim_t)count + FILES_BESIDES;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return count; /* unknown: opening them will tell */
	if (limit.rlim_cur < needed) {
		limit = (struct rlimit){ needed,
			                 limit.rlim_max < needed ? needed : limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &limit) && !getrlimit(RLIMIT_NOFILE, &limit)) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(RLIMIT_NOFILE, &limit);
		}
	}
	return limit.rlim_cur > FILES_BESIDES ? limit.rlim_cur - FILES_BESIDES : 0;
}
