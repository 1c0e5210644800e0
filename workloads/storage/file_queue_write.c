/* file_queue_write -- overwrite blocks of a large file at random, with many requests outstanding
 * (io_uring).
 *
 * Measures     requests to write `block` bytes at random places in a file that has room already, of
 *              which one thread keeps `depth` outstanding; then fsync, unless `sync` is 0. Each
 *              block is written once in a pass.
 * Leaves out   what file_queue_read leaves out.
 * Beware       the kernel may hand writes through the cache to threads of its own, which then do
 *              them one after the other. The latency is from when a request is put into the queue,
 *              without the fsync.
 * After        fio's io_uring engine (Axboe).
 */
#include "queue.h"

static int setup(void)
{
	return queue_begin(1);
}

static int run(uint64_t operations)
{
	int outcome = queue_run(operations);

	return outcome ? outcome : phase_synced();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	QUEUE_PARAMETERS,
	SYNC_PARAMETER,
	{ 0 },
};

const struct workload workload_file_queue_write = {
	.name = "file_queue_write",
	.group = "storage",
	.summary = "blocks of a large file overwritten at random by a queue of requests",
	.operation = "block",
	.setup = setup,
	.before = phase_before_writing,
	.phases = phases,
	.teardown = queue_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.counted = (void (*)(void))queue_done,
};
