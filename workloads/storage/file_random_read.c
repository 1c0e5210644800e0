/* file_random_read -- read blocks of a large file at random, by several seekers.
 *
 * Measures     pread of `block` bytes at random places, by `seekers` threads that each wait for one
 *              block before they ask for the next: that many requests are outstanding. Each block
 *              is read once in a pass over the file, in an order that follows from the seed.
 *              `cache` says where the data are, as for file_sequential_read.
 * Leaves out   reading ahead, which posix_fadvise(RANDOM) switches off, as fio does.
 * Beware       blocks smaller than a page cost a page each when the data are cold. With more
 *              seekers than processors, warm reads measure the scheduler. Each block's number is
 *              checked.
 * After        Bonnie++ ("Random Seeks", of which a tenth also write: file_random_update) and fio's
 *              randread.
 */
#include "random.h"

static int perform(unsigned member, uint64_t number)
{
	return random_read(member, random_block(number));
}

static int setup(void)
{
	return random_begin(O_RDONLY, perform);
}

static int run(uint64_t operations)
{
	return random_run(operations);
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	RANDOM_PARAMETERS,
	{ 0 },
};

static const struct call calls[] = { { "pread64", 1 }, { 0 } };

const struct workload workload_file_random_read = {
	.name = "file_random_read",
	.group = "storage",
	.summary = "blocks of a large file read at random by several seekers",
	.operation = "block",
	.setup = setup,
	.before = phase_before_reading,
	.phases = phases,
	.teardown = random_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
