/* map_unmap -- map a file into memory, touch it, unmap it.
 *
 * Measures     mmap of the file, a read of the first word of every page (with touch=0: none), and
 *              munmap, which takes the pages out of the page table and from the processor's buffer
 *              of addresses. On Windows CreateFileMapping, MapViewOfFile, CloseHandle of the former,
 *              which the view outlives, the reads, and UnmapViewOfFile.
 * Leaves out   the disk: the file was just written and is in the cache.
 * Beware       with touch=0 the system makes a note of a mapping and forgets it, whatever the
 *              size. With touch=1 the faults are most of the work; Linux may map up to fifteen
 *              neighbours along with each page that faults. Every page must show its own number.
 * After        lat_mmap of lmbench (McVoy and Staelin), which touches some of the pages.
 */
#include <stdlib.h>

#include "../api/handle.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { SIZE_LEAST = 4096, SIZE_MOST = 16777216 };

static uint64_t          size = 65536, touch = 1;
static const name_letter name[] = NAME("map_unmap");

static struct {
	handle file;
	size_t page_bytes;
} s = { .file = NO_HANDLE };

static int write_file(void)
{
	uint32_t *page = calloc(1, s.page_bytes);
	int       outcome = page ? 0 : fail("calloc");

	for (uint64_t at = 0; at < size && !outcome; at += s.page_bytes) {
		*page = (uint32_t)(at / s.page_bytes) + 1;
		outcome = handle_write_whole(s.file, page, s.page_bytes) ? fail("write") : 0;
	}
	free(page);
	return outcome;
}

static int setup(void)
{
	int outcome = handle_begin();

	if (outcome)
		return outcome;
	s.page_bytes = page_bytes();
	s.file = handle_open(name, HANDLE_EMPTY);
	return s.file == NO_HANDLE ? fail("opening the file") : write_file();
}

static int touch_all(const unsigned char *area)
{
	for (uint64_t at = 0; at < size; at += s.page_bytes) {
		uint32_t found = *(const volatile uint32_t *)(const void *)(area + at);

		if (found != at / s.page_bytes + 1)
			return fail_check("page %lld of the file came in place of page %llu",
			                  (long long)found - 1,
			                  (unsigned long long)(at / s.page_bytes));
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		void *area = handle_map(s.file, (size_t)size);

		if (!area)
			return fail("mapping the file");
		if (touch)
			outcome = touch_all(area);
		if (handle_unmap(area, (size_t)size))
			return fail("unmapping the file");
	}
	return outcome;
}

static void teardown(void)
{
	if (s.file != NO_HANDLE) {
		handle_close(s.file);
		handle_remove(name);
	}
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes of the mapped file", &size, SIZE_LEAST, SIZE_MOST),
	NUMBER("touch", "1: the first word of every page is read; 0: nothing", &touch, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "mmap", 1 }, { "munmap", 1 }, { 0 } };

const struct workload workload_map_unmap = {
	.name       = "map_unmap",
	.group      = "syscall",
	.summary    = "a file mapped into memory, touched, and unmapped",
	.operation  = "mapping",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
