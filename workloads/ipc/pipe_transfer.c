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
#include <string.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

enum { SIZE_MOST = 65536 };

static uint64_t      size = 512;
static unsigned char record[SIZE_MOST];

static struct {
	int   data[2], batch[2]; /* the records; the number of records to write next */
	pid_t writer;
} s = { .data = { -1, -1 }, .batch = { -1, -1 }, .writer = -1 };

/* The other process: for each count that comes, writes that many numbered records. */
static void serve(void)
{
	uint64_t records, number = 0;

	close(s.data[0]);
	close(s.batch[1]);
	memset(record, 1, sizeof(record)); /* else it would be read from the one page of zeros */
	while (!read_whole(s.batch[0], &records, sizeof(records)))
		while (records--) {
			memcpy(record, &number, sizeof(number));
			number++;
			if (write_whole(s.data[1], record, size))
				return;
		}
}

static int setup(void)
{
	if (pipe_make(s.data) || pipe_make(s.batch))
		return fail("pipe");
	s.writer = partner_start(serve, &s, sizeof(s));
	if (s.writer < 0)
		return fail("making the partner");
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

		if (read_whole(s.data[0], record, size))
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
	partner_end(&s.writer);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a record", &size, 8, SIZE_MOST),
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
