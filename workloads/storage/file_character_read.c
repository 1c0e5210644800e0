/* file_character_read -- read a large file character by character, through the C library.
 *
 * Measures     getc of stdio for each byte of a file, with the reads into its buffer. `cache` says
 *              where the data are, as for file_sequential_read. An operation is a block of `block`
 *              characters.
 * Leaves out   one system call a byte: file_byte_read.
 * Beware       this measures the C library above all, as file_character_write says. The sum of each
 *              block's characters is kept, and its number checked.
 * After        Bonnie++ 1.03 ("Sequential Input, Per Char"; Coker); later versions read byte by
 *              byte instead.
 */
#include <errno.h>
#include <stdio.h>

#include "phase.h"

static FILE *stream;

static int setup(void)
{
	int outcome = phase_begin_cached(O_RDONLY, "stdio reads into memory of its own");

	if (outcome)
		return outcome;
	stream = fdopen(phase_file, "r");
	return stream ? 0 : fail("fdopen");
}

static int read_block(uint64_t number)
{
	unsigned char *into = phase_room;

	for (uint64_t i = 0; i < area_block; i++) {
		int found = getc(stream);

		if (found == EOF)
			return ferror(stream) ? fail("getc")
			                      : fail_check("the file ended in block %llu",
			                                   (unsigned long long)number);
		into[i] = (unsigned char)found;
	}
	return area_check(phase_room, number);
}

static int before(uint64_t operations)
{
	int outcome = phase_before_reading(operations);

	if (!outcome && fseek(stream, 0, SEEK_SET)) /* lets go of what is in the buffer */
		return fail("fseek");
	return outcome;
}

static int run(uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t number = i % area_blocks, began = lane_began(&meter_lanes[0]);
		int      outcome = read_block(number);

		lane_ended(&meter_lanes[0], began);
		if (outcome)
			return outcome;
		if (number + 1 == area_blocks && fseek(stream, 0, SEEK_SET))
			return fail("fseek");
	}
	return 0;
}

static void teardown(void)
{
	if (stream) {
		fclose(stream);
		phase_file = -1;
	}
	phase_end();
}

static const struct phase phases[] = { { .metric = "bandwidth", .run = run }, METER_PHASES, { 0 } };

static const struct parameter parameters[] = {
	AREA_PARAMETERS,
	{ 0 },
};

static const struct call calls[] = { { "read", 2 }, { 0 } };

const struct workload workload_file_character_read = {
	.name = "file_character_read",
	.group = "storage",
	.summary = "a large file read character by character (getc)",
	.operation = "block of characters",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.bytes = &area_block,
	.performances = 3,
	.pass = &area_blocks,
	.calls = calls,
};
