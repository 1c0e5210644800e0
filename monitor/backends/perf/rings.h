/* rings.h -- opening a counter, and the ring of records that the kernel writes for it. */
#ifndef STEELYARD_PERF_RINGS_H
#define STEELYARD_PERF_RINGS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct opening {
	uint32_t type;
	uint64_t config;
	pid_t    thread;
	int      processor, group;
	unsigned inherited : 1, reported : 1, tasks : 1, off : 1, on_exec : 1;
};

struct ring {
	struct perf_event_mmap_page *page; /* NULL: none */
	size_t                       size; /* of the data, after the first page; a power of two */
};

/* Times in records are of CLOCK_MONOTONIC. */
struct raw_read {
	struct perf_event_header header;
	uint32_t                 pid, thread;
	uint64_t                 value;
};

struct raw_task { /* of FORK and EXIT */
	struct perf_event_header header;
	uint32_t                 pid, parent, thread, parent_thread;
	uint64_t                 at_ns;
};

struct raw_lost {
	struct perf_event_header header;
	uint64_t                 id, lost;
};

union raw {
	struct perf_event_header header;
	struct raw_read          read;
	struct raw_task          task;
	struct raw_lost          lost;
	uint64_t                 words[16];
};

/* Returns its descriptor, or -1 with errno. */
int counter_open(const struct opening *opening);
/* As many pages as there may be, down to one; -1 with errno if not even that. */
int ring_map(int file, size_t pages, struct ring *ring);
void ring_unmap(struct ring *ring);
enum { RING_LAST = 16 }; /* bytes: of what identifies every record, who and when */
/* The next record, copied: of one that is too long, a part in the middle is left out. Returns 0 if
 * there is none. */
int ring_next(struct ring *ring, union raw *record);

#endif
