/* files.c -- directories, pipes and streams of POSIX. See ../system.h and
 * workloads/api/workload.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/ioctl.h>

/* As the kernel's headers have them, which not every libc's compiler finds. */
#define GET_FLAGS _IOR('f', 1, long)
#define SET_FLAGS _IOW('f', 2, long)
enum { TOP_DIRECTORY = 0x20000 };
#endif

#include "../../workloads/api/workload.h"
#include "../system.h"

const char *directory_temporary(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

int directory_is_usable(const char *directory)
{
	struct stat status;

	return !stat(directory, &status) && S_ISDIR(status.st_mode) && !access(directory, W_OK);
}

int directory_make(const char *directory)
{
	return mkdir(directory, 0700);
}

int file_make(const char *path, int is_program)
{
	mode_t mode = is_program ? 0755 : 0644;
	int    file;

	unlink(path);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (file >= 0 && fchmod(file, mode)) { /* whatever the mask */
		close(file);
		return -1;
	}
	return file;
}

int directory_make_fresh(char *name)
{
	return mkdtemp(name) ? 0 : -1;
}

void directory_spread(const char *directory)
{
#ifdef __linux__
	int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), flags;

	if (file < 0)
		return;
	if (!ioctl(file, GET_FLAGS, &flags)) {
		flags |= TOP_DIRECTORY;
		ioctl(file, SET_FLAGS, &flags); /* most other file systems refuse it */
	}
	close(file);
#else
	(void)directory;
#endif
}

int pipe_make(int ends[2])
{
	return pipe(ends);
}

int pipe_make_private(int ends[2])
{
	int first[2], error;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (ends[0] > 2 && ends[1] > 2)
		return 0;
	/* A stream that was closed before us has left its number: what takes it would be given away
	 * as the stream. */
	memcpy(first, ends, sizeof(first));
	ends[0] = fcntl(first[0], F_DUPFD_CLOEXEC, 3);
	ends[1] = fcntl(first[1], F_DUPFD_CLOEXEC, 3);
	error = errno;
	close(first[0]);
	close(first[1]);
	errno = error;
	return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

void descriptor_keep(int file)
{
	fcntl(file, F_SETFD, FD_CLOEXEC);
}

struct stream {
	int file;
};

struct stream *stream_open(int file)
{
	struct stream *stream = malloc(sizeof(*stream));

	if (stream)
		stream->file = file;
	return stream;
}

struct stream *stream_input(void)
{
	static struct stream input; /* descriptor 0 */

	return &input;
}

ssize_t stream_take(struct stream *stream, void *into, size_t room)
{
	ssize_t got;

	while ((got = read(stream->file, into, room)) < 0 && (errno == EINTR || errno == EAGAIN))
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = stream->file, .events = POLLIN }, 1, 1000);
	return got;
}

int streams_wait(struct stream *const streams[], size_t count, int patience_ms,
                 unsigned char ready[])
{
	struct pollfd *polled = calloc(count ? count : 1, sizeof(*polled));
	int            answer;

	if (!polled)
		return -1;
	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){ .fd = streams[i] ? streams[i]->file : -1,
			                     .events = POLLIN };
	answer = poll(polled, count, patience_ms);
	for (size_t i = 0; i < count; i++)
		ready[i] = answer > 0 && polled[i].revents != 0;
	free(polled);
	return answer < 0 && errno != EINTR ? -1 : 0;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	close(stream->file);
	free(stream);
}
