/* file_random_write -- overwrite blocks of a large file at random, by several seekers.
 *
 * Measures     pwrite of `block` bytes at random places in a file that has room already, by
 *              `seekers` threads, and then fsync, unless `sync` is 0. Each block is written once in
 *              a pass.
 * Leaves out   finding room, except where a file system never overwrites (btrfs).
 * Beware       while the data are cold, a block that is no whole page must be read first. Latencies
 *              are those of pwrite, without the fsync. Threads that write one file take turns where
 *              it has one lock (ext4, xfs). Warm data are in the cache as they were written there,
 *              in pieces of `block`: what was read ahead is there in larger pieces (folios), in
 *              which ext4 changes 4 KiB in three times the time, and xfs in no more.
 * After        fio's randwrite.
 */
#include "random.h"

static int perform(unsigned member, uint64_t number)
{
	uint64_t block = random_block(number);

	return random_write(block, filler_block(&random_fillers[member], block));
}

static int setup(void)
{
	return random_begin(O_RDWR, perform);
}

static int run(uint64_t operations)
{
	int outcome = random_run(operations);

	return outcome ? outcome : phase_synced();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	RANDOM_PARAMETERS,
	SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "pwrite64", 1 }, { 0 } };

const struct workload workload_file_random_write = {
	.name = "file_random_write",
	.group = "storage",
	.summary = "blocks of a large file overwritten at random by several seekers",
	.operation = "block",
	.setup = setup,
	.before = phase_before_writing,
	.phases = phases,
	.teardown = random_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
