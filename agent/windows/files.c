/* files.c -- directories, pipes and streams of Windows. See ../system.h and
 * workloads/api/workload.h. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/clock.h"
#include "../../workloads/api/windows/error.h"
#include "../../workloads/api/workload.h"
#include "../clock_facts.h"
#include "../system.h"

enum { PIPE_BYTES = 65536, NAMES_TRIED = 1000, AHEAD_BYTES = 16384, READER_STACK = 65536 };

const char *directory_temporary(void)
{
	static char directory[MAX_PATH + 1];
	DWORD       length = GetTempPathA(sizeof(directory), directory);

	if (!length || length >= sizeof(directory))
		return "C:\\Windows\\Temp";
	directory[length - 1] = 0; /* it ends in a backslash */
	return directory;
}

/* By trying: what an access control list comes to is not for a program to foretell. */
int directory_is_usable(const char *directory)
{
	DWORD attributes = GetFileAttributesA(directory);
	char  name[MAX_PATH * 2];

	if (attributes == INVALID_FILE_ATTRIBUTES || !(attributes & FILE_ATTRIBUTE_DIRECTORY))
		return 0;
	snprintf(name, sizeof(name), "%s/try-XXXXXX", directory);
	return !directory_make_fresh(name) && RemoveDirectoryA(name);
}

int directory_make(const char *directory)
{
	return CreateDirectoryA(directory, NULL) ? 0 : windows_failed();
}

int file_make(const char *path, int is_program)
{
	(void)is_program; /* its name says it */
	return _open(path, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY | _O_NOINHERIT,
	             _S_IREAD | _S_IWRITE);
}

void directory_spread(const char *directory)
{
	(void)directory;
}

int directory_make_fresh(char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static uint32_t   state;
	size_t            length = strlen(name);

	if (!state)
		state = ((uint32_t)clock_ns() ^ (uint32_t)GetCurrentProcessId() * 2654435761u) | 1;
	for (int i = 0; i < NAMES_TRIED; i++) {
		for (size_t at = length - 6; at < length; at++)
			name[at] = letters[next_number(&state) % (sizeof(letters) - 1)];
		if (!directory_make(name))
			return 0;
		if (GetLastError() != ERROR_ALREADY_EXISTS)
			return -1;
	}
	return -1;
}

int pipe_make(int ends[2])
{
	return _pipe(ends, PIPE_BYTES, _O_BINARY | _O_NOINHERIT);
}

int pipe_make_private(int ends[2])
{
	return pipe_make(ends);
}

void descriptor_keep(int file)
{
	(void)file;
}

/* An anonymous pipe cannot be waited for, and to look again and again would disturb what is
 * measured: so a thread reads each stream, hands over what came, and reads on when that has been
 * taken. */
struct stream {
	int    file;
	HANDLE reader;
	HANDLE taken;     /* an event: the bytes were */
	DWORD  count, at; /* of the bytes; what has been taken of them */
	int    has, ended;
	int    unwanted; /* it is to be closed: no one takes anything from it any more */
	char   bytes[AHEAD_BYTES];
};

static struct {
	INIT_ONCE        once;
	CRITICAL_SECTION lock;    /* of all streams' count, at, has, ended and unwanted */
	HANDLE           arrived; /* an event: something came, to whichever of them */
} streams;

static BOOL CALLBACK streams_begin(PINIT_ONCE once, void *nothing, void **result)
{
	(void)once;
	(void)nothing;
	(void)result;
	InitializeCriticalSection(&streams.lock);
	streams.arrived = CreateEventA(NULL, FALSE, FALSE, NULL);
	return streams.arrived != NULL;
}

static DWORD WINAPI read_ahead(void *argument)
{
	struct stream *stream = argument;
	HANDLE         handle = (HANDLE)_get_osfhandle(stream->file);
	int            ended, wait;

	do {
		DWORD got = 0;

		ended = !ReadFile(handle, stream->bytes, sizeof(stream->bytes), &got, NULL) || !got;
		EnterCriticalSection(&streams.lock);
		stream->count = got;
		stream->at = 0;
		stream->has = !ended;
		stream->ended = ended;
		wait = !ended && !stream->unwanted;
		LeaveCriticalSection(&streams.lock);
		SetEvent(streams.arrived);
		if (wait)
			WaitForSingleObject(stream->taken, INFINITE);
	} while (!ended);
	return 0;
}

struct stream *stream_open(int file)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->file = file;
	if (!InitOnceExecuteOnce(&streams.once, streams_begin, NULL, NULL) ||
	    !(stream->taken = CreateEventA(NULL, FALSE, FALSE, NULL)) ||
	    !(stream->reader = CreateThread(NULL, READER_STACK, read_ahead, stream,
	                                    STACK_SIZE_PARAM_IS_A_RESERVATION, NULL))) {
		windows_failed();
		if (stream->taken)
			CloseHandle(stream->taken);
		free(stream);
		return NULL;
	}
	return stream;
}

struct stream *stream_input(void)
{
	static struct stream *input;

	if (!input)
		input = stream_open(0);
	if (!input) {
		fprintf(stderr, "steelyard-load: reading standard input: %s\n",
		        system_error(errno));
		exit(1);
	}
	return input;
}

/* Whether a stream has something or has ended; the lock is held. */
static int is_ready(const struct stream *stream)
{
	return stream->has || stream->ended;
}

int streams_wait(struct stream *const those[], size_t count, int patience_ms, unsigned char ready[])
{
	uint64_t deadline = clock_ns() + (uint64_t)patience_ms * 1000000;

	for (;;) {
		uint64_t now;
		int      some = 0;

		EnterCriticalSection(&streams.lock);
		for (size_t i = 0; i < count; i++)
			some |= ready[i] = those[i] && is_ready(those[i]);
		LeaveCriticalSection(&streams.lock);
		now = clock_ns();
		if (some || now >= deadline)
			return 0;
		WaitForSingleObject(streams.arrived, (DWORD)((deadline - now) / 1000000) + 1);
	}
}

ssize_t stream_take(struct stream *stream, void *into, size_t room)
{
	unsigned char ready = 0;
	ssize_t       got;

	while (!ready)
		streams_wait(&stream, 1, 1000, &ready);
	EnterCriticalSection(&streams.lock);
	got = stream->count - stream->at < room ? (ssize_t)(stream->count - stream->at)
	                                        : (ssize_t)room;
	memcpy(into, stream->bytes + stream->at, (size_t)got);
	stream->at += (DWORD)got;
	if (stream->has && stream->at == stream->count) {
		stream->has = 0;
		SetEvent(stream->taken);
	}
	LeaveCriticalSection(&streams.lock);
	return got;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	EnterCriticalSection(&streams.lock);
	stream->unwanted = 1;
	LeaveCriticalSection(&streams.lock);
	SetEvent(stream->taken);
	WaitForSingleObject(stream->reader, INFINITE);
	CloseHandle(stream->reader);
	CloseHandle(stream->taken);
	_close(stream->file);
	free(stream);
}
