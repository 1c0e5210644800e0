/* map_unmap -- map a file into memory, touch it, unmap it.
 *
 * Measures     mmap of the file, a read of the first word of every page (none with touch=0), and
 *              munmap, which removes the pages from the page table and from the TLB. Under Wine,
 *              CreateFileMapping, MapViewOfFile, CloseHandle of the mapping (the view outlives it),
 *              the reads, and UnmapViewOfFile.
 * Leaves out   the disk: the file was just written and is in the cache.
 * Beware       with touch=0 the system only records a mapping and forgets it, whatever the size.
 *              With touch=1 the page faults are most of the work; Linux may map up to fifteen
 *              neighbours with each page that faults. Every page must show its own number.
 * After        lat_mmap of lmbench (McVoy and Staelin), which touches some of the pages.
 */
#include "mapped_file.h"

static uint64_t touch = 1;

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		void *area = handle_map(file.handle, (size_t)size);

		if (!area)
			return fail("mapping the file");
		if (touch)
			outcome = read_pages(area);
		if (handle_unmap(area, (size_t)size))
			return fail("unmapping the file");
	}
	return outcome;
}

static const struct parameter parameters[] = {
	SIZE_PARAMETER,
	NUMBER("touch", "1: read the first word of every page; 0: read nothing", &touch, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "mmap", 1 }, { "munmap", 1 }, { 0 } };

const struct workload workload_map_unmap = {
	.name = "map_unmap",
	.group = "syscall",
	.summary = "a file mapped into memory, touched, and unmapped",
	.operation = "mapping",
	.setup = file_make,
	.run = run,
	.teardown = file_remove,
	.parameters = parameters,
	.calls = calls,
};
