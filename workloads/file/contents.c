/* contents.c -- see contents.h. */
#include "contents.h"

#include <string.h>

#include "../harness/system.h"
#include "../workload.h"

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

__attribute__((noinline)) uint32_t contents_sum(const uint32_t numbers[], size_t count)
{
	uint32_t a = 0, b = 0, c = 0, d = 0;
	size_t   i = 0;

	for (; i + 8 <= count; i += 8) {
		a += numbers[i];
		b += numbers[i + 1];
		c += numbers[i + 2];
		d += numbers[i + 3];
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
		a += numbers[i + 4];
		b += numbers[i + 5];
		c += numbers[i + 6];
		d += numbers[i + 7];
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	for (; i < count; i++)
		a += numbers[i];
	return a + b + c + d;
}

uint32_t contents_expected_sum(uint64_t size)
{
	uint32_t sum = 0;

	for (uint64_t place = 0; place < size / sizeof(uint32_t); place++)
		sum += contents_number(place);
	return sum;
}
