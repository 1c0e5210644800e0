/* mapped_file.h -- the file that map_unmap, map_file and unmap_file map: each page begins with its
 * own number.
 */
#ifndef STEELYARD_MAPPED_FILE_H
#define STEELYARD_MAPPED_FILE_H

#include <stdlib.h>

#include "../api/handle.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { MAPPED_SIZE_MOST = 16777216 };

static uint64_t          size = 65536;
static const name_letter name[] = NAME("mapped");

static struct {
	handle handle;
	size_t page_bytes;
} file = { .handle = NO_HANDLE };

static inline int write_pages(void)
{
	uint32_t *page = calloc(1, file.page_bytes);
	int       outcome = page ? 0 : fail("calloc");

	for (uint64_t at = 0; at < size && !outcome; at += file.page_bytes) {
		*page = (uint32_t)(at / file.page_bytes) + 1;
		outcome = handle_write_whole(file.handle, page, file.page_bytes) ? fail("write")
		                                                                 : 0;
	}
	free(page);
	return outcome;
}

static inline int file_make(void)
{
	int outcome = handle_begin();

	if (outcome)
		return outcome;
	file.page_bytes = page_bytes();
	file.handle = handle_open(name, HANDLE_EMPTY);
	return file.handle == NO_HANDLE ? fail("opening the file") : write_pages();
}

static inline void file_remove(void)
{
	if (file.handle != NO_HANDLE) {
		handle_close(file.handle);
		handle_remove(name);
	}
}

/* Reads the first word of every page of a mapping, and checks that it is this page's. */
static inline int read_pages(const unsigned char *area)
{
	for (uint64_t at = 0; at < size; at += file.page_bytes) {
		uint32_t found = *(const volatile uint32_t *)(const void *)(area + at);

		if (found != at / file.page_bytes + 1)
			return fail_check("page %lld of the file came in place of page %llu",
			                  (long long)found - 1,
			                  (unsigned long long)(at / file.page_bytes));
	}
	return 0;
}

#define SIZE_PARAMETER NUMBER("size", "bytes in the mapped file", &size, 4096, MAPPED_SIZE_MOST)

#endif
