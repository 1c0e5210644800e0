/* file_byte_write -- write a new file byte by byte, by one system call each.
 *
 * Measures     write of one byte, `bytes` times, to a new file through the cache; then fsync,
 *              unless `sync` is 0.
 * Leaves out   removing the file of the last pass. The C library's buffer: file_character_write.
 * Beware       this measures the path into the kernel and through the file system, and hardly the
 *              disk. Latencies are those of write.
 * After        Bonnie++ 2.00 ("Sequential Output, Per Chr"; Coker), which writes 3 MiB so.
 */
#include "phase.h"

static uint64_t bytes = 1048576, one = 1;

static int write_bytes(uint64_t operations)
{
	const unsigned char *from = filler_block(&area_filler, 0);

	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began = lane_began(&meter_lanes[0]);
		ssize_t  put = write(phase_file, from + i % area_block, 1);

		lane_ended(&meter_lanes[0], began);
		if (put != 1)
			return fail("write");
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = area_open(O_WRONLY | O_CREAT | O_EXCL, &phase_file);

	if (outcome || (outcome = write_bytes(operations)))
		return outcome;
	return phase_closed();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	NUMBER("bytes", "bytes to write", &bytes, 1, UINT64_C(1) << 40),
	SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_file_byte_write = {
	.name = "file_byte_write",
	.group = "storage",
	.summary = "a new file written byte by byte (write)",
	.operation = "byte",
	.setup = phase_begin_new,
	.before = phase_before_new,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.bytes = &one,
	.performances = 3,
	.pass = &bytes,
	.calls = calls,
};
