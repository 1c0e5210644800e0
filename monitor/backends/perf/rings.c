/* rings.c -- see rings.h. */
#include "rings.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"

int counter_open(const struct opening *opening)
{
	struct perf_event_attr attribute = {
		.type = opening->type,
		.size = sizeof attribute,
		.config = opening->config,
		.inherit = opening->inherited,
		.inherit_stat = opening->reported,
		.disabled = opening->off,
		.enable_on_exec = opening->on_exec,
		.exclude_kernel = kinds.is_user_only != 0,
		.exclude_hv = kinds.is_user_only != 0,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (opening->tasks) {
		attribute.task = 1;
		attribute.comm = 1;
		attribute.comm_exec = 1;
		attribute.mmap = 1;
		attribute.sample_id_all = 1;
		attribute.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	}
	return (int)syscall(SYS_perf_event_open, &attribute, opening->thread, opening->processor,
	                    opening->group, PERF_FLAG_FD_CLOEXEC);
}

int ring_map(int file, size_t pages, struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (; pages; pages /= 2) {
		void *place = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		                   file, 0);

		if (place != MAP_FAILED) {
			*ring = (struct ring){ place, pages * page };
			return 0;
		}
	}
	return -1;
}

void ring_unmap(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->size + (size_t)sysconf(_SC_PAGESIZE));
	ring->page = NULL;
}

int ring_next(struct ring *ring, union raw *record)
{
	const char              *data = (const char *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t                 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t                 tail = ring->page->data_tail;
	struct perf_event_header header;
	size_t                   length, behind;

	if (tail == head)
		return 0;
	/* Records are multiples of 8 bytes, as their headers are: those do not wrap. */
	memcpy(&header, data + (tail & (ring->size - 1)), sizeof header);
	length = header.size < sizeof *record ? header.size : sizeof *record;
	behind = header.size - length;
	for (size_t i = 0; i < length; i += 8) {
		uint64_t from = tail + i + (i >= length - RING_LAST ? behind : 0);

		memcpy((char *)record + i, data + (from & (ring->size - 1)), 8);
	}
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return header.size >= sizeof header;
}
