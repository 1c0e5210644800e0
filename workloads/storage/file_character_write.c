/* file_character_write -- write a new large file character by character, through the C library.
 *
 * Measures     putc of stdio for each byte of a new file, with the writes of its buffer; then
 *              fsync, unless `sync` is 0, and fclose. An operation is a block of `block`
 *              characters.
 * Leaves out   removing the file of the last pass. One system call a byte: file_byte_write.
 * Beware       this measures the C library above all: its lock, and the size of its buffer (4096
 *              bytes in glibc, 1024 in musl). Two systems with different libraries differ here
 *              whatever their kernels do.
 * After        Bonnie++ 1.03 ("Sequential Output, Per Char"; Coker); later versions write byte by
 *              byte instead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phase.h"

static FILE *stream;

static int setup(void)
{
	if (!strcmp(area_cache, "direct"))
		return fail_check("cache is 'direct', and must be warm or limited: the C library's "
		                  "buffer is not aligned");
	return phase_begin_new();
}

static int write_block(const unsigned char *from)
{
	for (uint64_t i = 0; i < area_block; i++)
		if (putc(from[i], stream) == EOF)
			return fail("putc");
	return 0;
}

static int write_blocks(uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t number = i % area_blocks, began = lane_began(&meter_lanes[0]);
		int      outcome = write_block(filler_block(&area_filler, number));

		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
		if (number + 1 == area_blocks && fseek(stream, 0, SEEK_SET))
			return fail("fseek");
	}
	return fflush(stream) ? fail("fflush") : 0;
}

static int run(uint64_t operations)
{
	int outcome = area_open(O_WRONLY | O_CREAT | O_EXCL, &phase_file);

	if (outcome)
		return outcome;
	stream = fdopen(phase_file, "w");
	if (!stream)
		return fail("fdopen");
	outcome = write_blocks(operations);
	if (!outcome)
		outcome = phase_synced();
	if (fclose(stream) && !outcome)
		outcome = fail("fclose");
	phase_file = -1;
	return outcome;
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	SYNC_PARAMETER,
	{ 0 },
};

static const struct call calls[] = { { "write", 2 }, { 0 } };

const struct workload workload_file_character_write = {
	.name = "file_character_write",
	.group = "storage",
	.summary = "a new large file written character by character (putc)",
	.operation = "block of characters",
	.setup = setup,
	.before = phase_before_new,
	.phases = phases,
	.teardown = phase_end,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
