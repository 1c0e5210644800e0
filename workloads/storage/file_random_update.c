/* file_random_update -- read blocks of a large file at random and write some of them back, by
 * several seekers.
 *
 * Measures     pread of `block` bytes at random places, by `seekers` threads, of which every
 *              `every`-th changes one byte and writes the block back where it was; then fsync,
 *              unless `sync` is 0. every=1: all of them; every=10 is Bonnie++'s seek test.
 * Leaves out   reading ahead, as file_random_read does.
 * Beware       Latencies are of both kinds together: with every=10 the median is of a read, and
 *              beyond 90 % of a write. Each block's number is checked.
 * After        Bonnie++ ("Random Seeks"; Coker), whose 8000 seeks by three processes the paper's
 *              version made.
 */
#include "random.h"

static uint64_t every = 1;

static int perform(unsigned member, uint64_t number)
{
	uint64_t block = random_block(number);
	int      outcome = random_read(member, block);

	if (outcome || number % every)
		return outcome;
	((unsigned char *)random_rooms[member])[sizeof(uint64_t)]++;
	return random_write(block, random_rooms[member]);
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
	NUMBER("every", "one in this number of blocks is written back", &every, 1, 1000000),
	{ 0 },
};

static const struct call calls[] = { { "pread64", 1 }, { "pwrite64", 1 }, { 0 } };

const struct workload workload_file_random_update = {
	.name = "file_random_update",
	.group = "storage",
	.summary = "blocks of a large file read at random, and some written back",
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
