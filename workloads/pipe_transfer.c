/* pipe_transfer -- send records from one process to another through a pipe.
 *
 * Measures     write and read on a pipe, the copies in and out of the kernel, and the switches
 *              between writer and reader when the pipe is full or empty.
 * Leaves out   process creation: the writer is forked in setup.
 * Beware       a pipe holds about a hundred records, so a batch that began with a full pipe would
 *              read work of the batch before: the writer waits for the batch's count, writes exactly
 *              that many, and the batch ends when the last has been read. On one processor it measures
 *              the scheduler, on two also wake-ups between processors.
 * After        Piper of the PEGASUS paper (Silva).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

enum { SIZE_MOST = 65536 };

static uint64_t      size = 512;
static unsigned char record[SIZE_MOST];

static struct {
	int   data[2], batch[2]; /* the records; the number of records to write next */
	pid_t writer;
} s = { .data = { -1, -1 }, .batch = { -1, -1 }, .writer = -1 };

/* Fills `into`, or says no: 0 at the end of the pipe before the first byte, -1 on an error. */
static ssize_t read_whole(int from, void *into, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = read(from, (char *)into + got, bytes - got);

		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return more < 0 || got ? -1 : 0;
		got += (size_t)more;
	}
	return (ssize_t)got;
}

static int write_whole(int into, const void *from, size_t bytes)
{
	size_t put = 0;

	while (put < bytes) {
		ssize_t more = write(into, (const char *)from + put, bytes - put);

		if (more < 0)
			return -1;
		put += (size_t)more;
	}
	return 0;
}

/* The other process: for each count that comes, writes that many numbered records. */
static void serve(void)
{
	uint64_t records, number = 0;

	while (read_whole(s.batch[0], &records, sizeof(records)) > 0)
		while (records--) {
			memcpy(record, &number, sizeof(number));
			number++;
			if (write_whole(s.data[1], record, size))
				_exit(1);
		}
	_exit(0);
}

static int setup(void)
{
	if (pipe(s.data) || pipe(s.batch))
		return fail("pipe");
	s.writer = fork();
	if (s.writer < 0)
		return fail("fork");
	if (s.writer == 0) {
		close(s.data[0]);
		close(s.batch[1]);
		serve();
	}
	close(s.data[1]);
	close(s.batch[0]);
	s.data[1] = s.batch[0] = -1;
	return 0;
}

static int run(uint64_t operations)
{
	static uint64_t expected;

	if (write_whole(s.batch[1], &operations, sizeof(operations)))
		return fail("write");
	while (operations--) {
		uint64_t number;

		if (read_whole(s.data[0], record, size) <= 0)
			return fail("read");
		memcpy(&number, record, sizeof(number));
		if (number != expected++)
			return fail_check("record %llu came in place of record %llu",
			                  (unsigned long long)number,
			                  (unsigned long long)expected - 1);
	}
	return 0;
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++) {
		if (s.data[end] >= 0)
			close(s.data[end]);
		if (s.batch[end] >= 0)
			close(s.batch[end]);
	}
	if (s.writer > 0)
		waitpid(s.writer, NULL, 0);
}

static const struct parameter parameters[] = {
	{ "size", "bytes in a record", &size, 8, SIZE_MOST },
	{ 0 },
};

static const struct call calls[] = { { "write", 1 }, { "read", 1 }, { 0 } };

const struct workload workload_pipe_transfer = {
	.name       = "pipe_transfer",
	.group      = "ipc",
	.summary    = "records from one process to another through a pipe",
	.operation  = "record",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
