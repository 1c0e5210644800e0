/* contents.c -- see contents.h. */
#include "contents.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../workload.h"

static const char name[] = "contents";

static int directory = -1;

enum { PAGE = 4096 };

uint32_t *contents_room;

static int fill(int file, uint64_t size, uint64_t block)
{
	for (uint64_t at = 0; at < size; at += block) {
		uint64_t bytes = size - at < block ? size - at : block;

		for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++)
			contents_room[i] = contents_number(at / sizeof(uint32_t) + i);
		if (write_whole(file, contents_room, bytes))
			return fail("write");
	}
	return 0;
}

int contents_make(uint64_t size, uint64_t block)
{
	int file, outcome;

	contents_room = aligned_alloc(PAGE, (block + PAGE - 1) / PAGE * PAGE);
	if (!contents_room)
		return fail("aligned_alloc");
	directory = open(trial_directory(), O_RDONLY | O_DIRECTORY);
	if (directory < 0)
		return fail("open");
	file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (file < 0)
		return fail("openat");
	outcome = fill(file, size, block);
	if (close(file) && !outcome)
		outcome = fail("close");
	memset(contents_room, 0, block);
	return outcome;
}

int contents_open(int *file)
{
	*file = openat(directory, name, O_RDWR);
	return *file < 0 ? fail("openat") : 0;
}

void contents_remove(void)
{
	if (directory < 0)
		return;
	unlinkat(directory, name, 0);
	close(directory);
	directory = -1;
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
