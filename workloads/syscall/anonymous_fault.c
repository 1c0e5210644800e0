/* anonymous_fault -- touch a page of new memory for the first time.
 *
 * Measures     the processor's fault, a page found free, filled with zeros and entered in the page
 *              table; and a share of giving all of them back (one madvise after every page has
 *              been touched once), which makes the next touches first ones.
 * Leaves out   making the area (in setup), and the upper levels of the page table, which stay.
 * Beware       huge pages are declined for the area, so each touch is one fault of one page; a
 *              system that is no Linux kernel may still hand out several at once. The same few
 *              pages come and go, so they may still be in a cache, and memory that nobody has used
 *              before costs more. Each page must come as zeros, where its last touch left a one.
 * After        lat_pagefault of lmbench (McVoy and Staelin), which touches a file's pages:
 *              page_fault.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../workload.h"

#if defined(__clang__)
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noinline, noipa))
#endif

enum { SIZE_LEAST = 4096, SIZE_MOST = 1073741824 };

static uint64_t size = 1048576;

static struct {
	size_t         page_bytes, bytes;
	unsigned char *area;
	size_t         next; /* the place of the next page */
} s = { .area = MAP_FAILED };

static int setup(void)
{
#ifdef __linux__
	s.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s.bytes = (size_t)(size + s.page_bytes - 1) / s.page_bytes * s.page_bytes;
	if (s.bytes > memory_allowed())
		return unsupported("size=%llu is more than the %llu bytes that memory allows here",
		                   (unsigned long long)size, (unsigned long long)memory_allowed());
	s.area = mmap(NULL, s.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s.area == MAP_FAILED)
		return fail("mmap");
	/* A kernel that has no huge pages knows nothing of this. */
	if (madvise(s.area, s.bytes, MADV_NOHUGEPAGE) && errno != EINVAL)
		return fail("madvise");
	return 0;
#else
	return unsupported("only Linux promises to forget pages that are not needed");
#endif
}

/* The page to touch next. It only says which: a fault inside a function makes its return a mispredicted
 * one, and that cost a fifth of the figure. */
OPAQUE volatile uint32_t *anonymous_fault_page(void);
OPAQUE volatile uint32_t *anonymous_fault_page(void)
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
		if (madvise(s.area, s.bytes, MADV_DONTNEED))
			return fail("madvise");
		s.next = 0;
	}
	return 0;
}

static void teardown(void)
{
	if (s.area != MAP_FAILED)
		munmap(s.area, s.bytes);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes touched before they are given back", &size, SIZE_LEAST, SIZE_MOST),
	{ 0 },
};

const struct workload workload_anonymous_fault = {
	.name       = "anonymous_fault",
	.group      = "syscall",
	.summary    = "the first touch of a page of new memory",
	.operation  = "page",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.counted    = (void (*)(void))anonymous_fault_page,
};
