/* contents.c -- see contents.h. */
#include "contents.h"

#include <string.h>

#include "../api/system.h"
#include "../api/workload.h"

static const name_letter name[] = NAME("contents");

static int is_made;

enum { PAGE = 4096 };

uint32_t *contents_room;

static int fill(handle file, uint64_t size, uint64_t block)
{
	for (uint64_t at = 0; at < size; at += block) {
		uint64_t bytes = size - at < block ? size - at : block;

		for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++)
			contents_room[i] = contents_number(at / sizeof(uint32_t) + i);
		if (handle_write_whole(file, contents_room, bytes))
			return fail("write");
	}
	return 0;
}

int contents_make(uint64_t size, uint64_t block)
{
	handle file;
	int    outcome;

	contents_room = aligned_take(PAGE, (block + PAGE - 1) / PAGE * PAGE);
	if (!contents_room)
		return fail("taking memory");
	if ((outcome = handle_begin()))
		return outcome;
	file = handle_open(name, HANDLE_NEW);
	if (file == NO_HANDLE)
		return fail("opening the file");
	is_made = 1;
	outcome = fill(file, size, block);
	if (handle_close(file) && !outcome)
		outcome = fail("close");
	memset(contents_room, 0, block);
	return outcome;
}

int contents_open(handle *file)
{
	*file = handle_open(name, HANDLE_READ_WRITE);
	return *file == NO_HANDLE ? fail("opening the file") : 0;
}

void contents_remove(void)
{
	if (is_made)
		handle_remove(name);
	is_made = 0;
}

/* Four numbers in a register, on every processor that has such registers; it needs no more than the
 * least x86-64, so that the machine code is one. */
typedef uint32_t four_numbers __attribute__((vector_size(16), may_alias));

__attribute__((noinline)) uint32_t contents_sum(const uint32_t numbers[], size_t count)
{
	enum { AT_ONCE = 32 };
	four_numbers a = { 0 }, b = a, c = a, d = a;
	uint32_t     sum = 0;

	for (; count >= AT_ONCE; count -= AT_ONCE, numbers += AT_ONCE) {
		const four_numbers *at = (const four_numbers *)(const void *)numbers;

		__asm__ volatile("" : "+r"(at) : : "memory");
		a += at[0];
		b += at[1];
		c += at[2];
		d += at[3];
		a += at[4];
		b += at[5];
		c += at[6];
		d += at[7];
	}
	a += b + c + d;
	for (size_t i = 0; i < 4; i++)
		sum += a[i];
	while (count--)
		sum += *numbers++;
	return sum;
}

uint32_t contents_expected_sum(uint64_t size)
{
	uint32_t sum = 0;

	for (uint64_t place = 0; place < size / sizeof(uint32_t); place++)
		sum += contents_number(place);
	return sum;
}
