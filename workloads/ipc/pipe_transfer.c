/* pipe_transfer -- send records from one process to another through a pipe.
 *
 * Measures     write and read on a pipe, copying into and out of the kernel, and the switches
 *              between writer and reader when the pipe is full or empty.
 * Leaves out   creating the writer's process (in setup).
 * Beware       a pipe holds about a hundred records, so a batch that began with a full pipe would
 *              read what the batch before had written. So the writer waits for the batch's count
 *              and writes exactly that many records, and the batch ends when the last one has been
 *              read. On one processor it measures the scheduler, on two also the wake-ups between
 *              processors.
 * After        Piper of the PEGASUS paper (Silva).
 */
#include "pair.h"

enum { SIZE_MOST = 65536 };

static uint64_t      size = 512;
static unsigned char record[SIZE_MOST];

/* The other process: for each count that comes, writes that many numbered records. */
static void serve(void)
{
	uint64_t records, number = 0;

	pair_join();
	memset(record, 1, sizeof(record)); /* else it would be read from the one page of zeros */
	while (!read_whole(pair.partners[IN], &records, sizeof(records)))
		while (records--) {
			memcpy(record, &number, sizeof(number));
			number++;
			if (write_whole(pair.partners[OUT], record, size))
				return;
		}
}

static int setup(void)
{
	int outcome = pair_by_pipes();

	return outcome ? outcome : pair_start(serve);
}

static int run(uint64_t operations)
{
	static uint64_t expected;

	if (write_whole(pair.ours[OUT], &operations, sizeof(operations)))
		return fail("write");
	while (operations--) {
		uint64_t number;

		if (read_whole(pair.ours[IN], record, size))
			return fail("read");
		memcpy(&number, record, sizeof(number));
		if (number != expected++)
			return fail_check("record %llu came in place of record %llu",
			                  (unsigned long long)number,
			                  (unsigned long long)expected - 1);
	}
	return 0;
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a record", &size, 8, SIZE_MOST),
	{ 0 },
};

static const struct call calls[] = { { "write", 1 }, { "read", 1 }, { 0 } };

const struct workload workload_pipe_transfer = {
	.name = "pipe_transfer",
	.group = "ipc",
	.summary = "records sent from one process to another through a pipe",
	.operation = "record",
	.setup = setup,
	.run = run,
	.teardown = pair_end,
	.parameters = parameters,
	.calls = calls,
};
