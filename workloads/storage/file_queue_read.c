/* file_queue_read -- read blocks of a large file at random, with many requests outstanding
 * (io_uring).
 *
 * Measures     requests to read `block` bytes at random places, of which one thread keeps `depth`
 *              outstanding: as soon as one is done the next is asked for. Each block is read once
 *              in a pass. `cache` says where the data are, as for file_sequential_read.
 * Leaves out   threads: file_random_read with as many seekers has the same number outstanding.
 *              Registered buffers, and polling.
 * Beware       warm data are read while they are asked for, whatever the depth. The latency is from
 *              when a request is put into the queue; it grows with the depth by itself. Each
 *              block's number is checked.
 * After        fio's io_uring engine (Axboe).
 */
#include "queue.h"

static int setup(void)
{
	return queue_begin(0);
}

static int run(uint64_t operations)
{
	return queue_run(operations);
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = { QUEUE_PARAMETERS, { 0 } };

const struct workload workload_file_queue_read = {
	.name = "file_queue_read",
	.group = "storage",
	.summary = "blocks of a large file read at random by a queue of requests",
	.operation = "block",
	.setup = setup,
	.before = phase_before_reading,
	.phases = phases,
	.teardown = queue_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.counted = (void (*)(void))queue_done,
};
