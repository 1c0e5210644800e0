/* anonymous_fault -- touch a page of new memory for the first time.
 *
 * Measures     the page fault, finding a free page, filling it with zeros and entering it in the
 *              page table. Also a share of giving all pages back, so that the next touches are
 *              first touches again: one madvise call after each page has been touched once. Under
 *              Wine, VirtualFree (MEM_DECOMMIT) and VirtualAlloc (MEM_COMMIT) give them back. A
 *              batch is a multiple of all pages, so that each holds its share.
 * Leaves out   mapping the area (in setup), and the upper levels of the page table, which stay.
 * Beware       the workload asks for no huge pages, so each touch is one fault of one page. A
 *              system other than Linux may still provide several pages at once, and Wine offers no
 *              way to ask. The same few pages come and go, so they may still be in a cache; memory
 *              that was never used before costs more. Each page is checked to come as zeros,
 *              although its last touch left a one.
 * After        lat_pagefault of lmbench (McVoy and Staelin), which touches a file's pages, as
 *              page_fault does.
 */
#include "../api/system.h"
#include "../api/workload.h"

enum { SIZE_LEAST = 4096, SIZE_MOST = 1073741824 };

static uint64_t size = 1048576;

static struct {
	size_t         page_bytes, bytes;
	unsigned char *area;
	size_t         next; /* the place of the next page */
	uint64_t       pages;
} s;

#ifdef _WIN32
#include "../api/windows/error.h"

/* Takes all pages back, and promises as many new ones. */
static int renew(void)
{
	if (VirtualFree(s.area, s.bytes, MEM_DECOMMIT) &&
	    VirtualAlloc(s.area, s.bytes, MEM_COMMIT, PAGE_READWRITE) == s.area)
		return 0;
	windows_failed();
	return fail("giving pages back");
}
#elif defined(__linux__)
#include <sys/mman.h>

static int renew(void)
{
	return madvise(s.area, s.bytes, MADV_DONTNEED) ? fail("madvise") : 0;
}
#else
/* POSIX leaves open whether pages that are not needed come back as zeros. */
static int renew(void)
{
	return unsupported("only Linux promises to forget pages that are not needed");
}
#endif

static int setup(void)
{
	s.page_bytes = page_bytes();
	s.bytes = (size_t)(size + s.page_bytes - 1) / s.page_bytes * s.page_bytes;
	s.pages = s.bytes / s.page_bytes;
	if (s.bytes > memory_allowed())
		return unsupported("size=%llu is more than the %llu bytes that memory allows here",
		                   (unsigned long long)size, (unsigned long long)memory_allowed());
	s.area = memory_take(s.bytes);
	if (!s.area)
		return fail("taking memory");
	memory_small_pages(s.area, s.bytes);
	return renew();
}

/* The page to touch next. It only says which: a fault inside a function makes its return a
 * mispredicted one, and that cost a fifth of the figure. */
APART volatile uint32_t *anonymous_fault_page(void);
APART volatile uint32_t *anonymous_fault_page(void)
{
	return (volatile uint32_t *)(void *)(s.area + s.next);
}

static int run(uint64_t operations)
{
	while (operations--) {
		volatile uint32_t *page = anonymous_fault_page();
		uint32_t           found;

		page[0] = 1; /* faults; the second word is the same cache line's */
		found = page[1];
		page[1] = 1;
		if (found != 0)
			return fail_check("a page of new memory is not zeros");
		s.next += s.page_bytes;
		if (s.next < s.bytes)
			continue;
		if (renew())
			return OUTCOME_FAILED;
		s.next = 0;
	}
	return 0;
}

static void teardown(void)
{
	if (s.area)
		memory_give(s.area, s.bytes);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes touched before all are unmapped", &size, SIZE_LEAST, SIZE_MOST),
	{ 0 },
};

const struct workload workload_anonymous_fault = {
	.name = "anonymous_fault",
	.group = "syscall",
	.summary = "the first touch of a page of new memory",
	.operation = "page",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.cycle = &s.pages,
	.counted = (void (*)(void))anonymous_fault_page,
};
