/* page_fault -- touch a page of a mapped file for the first time.
 *
 * Measures     the page fault, the kernel's search for the page in its cache, and the entry in the
 *              page table. Also a share of removing all entries again, so that the next touches are
 *              first touches: one madvise call after each page has been touched once.
 *              A batch is a multiple of all pages, so that each holds its share.
 * Leaves out   the disk: the file was just written and is in the cache. Mapping the file (in
 *              setup), and the upper levels of the page table, which stay.
 * Beware       Linux may map up to fifteen neighbours with the page that faults (64 KiB), whatever
 *              the order of the touches; then fifteen of sixteen touches do not fault. With
 *              alone=1, the default, every page is a separate mapping whose neighbours are
 *              elsewhere in the file (they are mapped in reverse order), so every touch faults.
 *              With alone=0 there is one mapping, and neighbours are mapped together. The pages are
 *              touched in a random order, the same in every trial, and each must show its own
 *              number.
 * After        lat_pagefault of lmbench (McVoy and Staelin), which has alone=0.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../api/workload.h"

enum { SIZE_LEAST = 4096, SIZE_MOST = 67108864 };

static uint64_t   size = 1048576, alone = 1;
static const char name[] = "page_fault";

static struct {
	int            file;
	size_t         page_bytes;
	uint64_t       pages;
	unsigned char *area;
	uint32_t      *order;
	size_t         next; /* in the order */
} s = { .file = -1, .area = MAP_FAILED };

static int write_file(void)
{
	uint32_t *page = calloc(1, s.page_bytes);
	int       outcome = page ? 0 : fail("calloc");

	for (uint32_t i = 0; i < s.pages && !outcome; i++) {
		*page = i + 1;
		outcome = write_whole(s.file, page, s.page_bytes) ? fail("write") : 0;
	}
	free(page);
	return outcome;
}

/* The file's page that is mapped as page `at` of the area. */
static size_t page_of_file(size_t at)
{
	return alone ? s.pages - 1 - at : at;
}

static int map(void)
{
	size_t each = alone ? s.page_bytes : s.pages * s.page_bytes;

	s.area = mmap(NULL, s.pages * s.page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s.area == MAP_FAILED)
		return fail("mmap");
	for (size_t at = 0; at < s.pages * s.page_bytes; at += each)
		if (mmap(s.area + at, each, PROT_READ, MAP_SHARED | MAP_FIXED, s.file,
		         (off_t)(page_of_file(at / s.page_bytes) * s.page_bytes)) == MAP_FAILED)
			return fail("mmap");
	return 0;
}

static int setup(void)
{
	int outcome;

#ifndef __linux__
	return unsupported("only Linux promises to forget pages that are not needed");
#endif
	s.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s.pages = (size_t)(size + s.page_bytes - 1) / s.page_bytes;
	if (chdir(trial_directory()))
		return fail("chdir");
	s.file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (s.file < 0)
		return fail("open");
	s.order = calloc(s.pages, sizeof(*s.order));
	if (!s.order)
		return fail("calloc");
	random_order(s.order, (uint32_t)s.pages);
	outcome = write_file();
	return outcome ? outcome : map();
}

/* The page to touch next. It only says which: a fault inside a function makes its return a
 * mispredicted one. */
APART const volatile uint32_t *page_fault_page(size_t at);
APART const volatile uint32_t *page_fault_page(size_t at)
{
	return (const volatile uint32_t *)(void *)(s.area + at * s.page_bytes);
}

static int run(uint64_t operations)
{
	while (operations--) {
		size_t   at = s.order[s.next];
		uint32_t found = *page_fault_page(at);

		if (found != page_of_file(at) + 1)
			return fail_check("page %zu of the file came in place of page %zu",
			                  (size_t)found - 1, page_of_file(at));
		if (++s.next < s.pages)
			continue;
		if (madvise(s.area, s.pages * s.page_bytes, MADV_DONTNEED))
			return fail("madvise");
		s.next = 0;
	}
	return 0;
}

static void teardown(void)
{
	if (s.area != MAP_FAILED)
		munmap(s.area, s.pages * s.page_bytes);
	free(s.order);
	if (s.file >= 0) {
		close(s.file);
		unlink(name);
	}
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the mapped file", &size, SIZE_LEAST, SIZE_MOST),
	NUMBER("alone", "1: each page is a separate mapping; 0: there is one mapping", &alone, 0,
	       1),
	{ 0 },
};

const struct workload workload_page_fault = {
	.name = "page_fault",
	.group = "syscall",
	.summary = "the first touch of a page of a mapped file",
	.operation = "page",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.cycle = &s.pages,
	.counted = (void (*)(void))page_fault_page,
};
