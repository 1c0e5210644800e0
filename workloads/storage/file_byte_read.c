/* file_byte_read -- read a file byte by byte, by one system call each.
 *
 * Measures     read of one byte, `bytes` times, from the beginning of a file of `size` bytes.
 *              `cache` is warm or cold.
 * Leaves out   the C library's buffer: file_character_read.
 * Beware       this measures the path into the kernel and through the file system: of 4096 reads
 *              one at most waits for the device.
 * After        Bonnie++ 2.00 ("Sequential Input, Per Chr"; Coker), which reads 3 MiB so.
 */
#include "phase.h"

static uint64_t bytes = 1048576, one = 1;

static int setup(void)
{
	return phase_begin_cached(O_RDONLY, "past the cache no single byte can be read");
}

static int run(uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t began;
		ssize_t  got;

		if (i && i % area_size == 0 && lseek(phase_file, 0, SEEK_SET))
			return fail("lseek");
		began = lane_began(&meter_lanes[0]);
		got = read(phase_file, phase_room, 1);
		lane_ended(&meter_lanes[0], began);
		if (got < 0)
			return fail("read");
		if (!got)
			return fail_check("the file ended after %llu bytes", (unsigned long long)i);
	}
	return 0;
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	NUMBER("bytes", "bytes to read", &bytes, 1, UINT64_C(1) << 40),
	{ 0 },
};

static const struct call calls[] = { { "read", 1 }, { 0 } };

const struct workload workload_file_byte_read = {
	.name = "file_byte_read",
	.group = "storage",
	.summary = "a file read byte by byte (read)",
	.operation = "byte",
	.setup = setup,
	.before = phase_before_writing,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.bytes = &one,
	.performances = 3,
	.pass = &bytes,
	.calls = calls,
};
