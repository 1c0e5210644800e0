/* queue.c -- see queue.h. By the system calls themselves, because liburing is nowhere a given. */
#include "queue.h"

#include <errno.h>
#include <string.h>

#include "../api/kernel_call.h"

uint64_t queue_depth = 16;

#if defined(__linux__) && defined(SYS_io_uring_setup)
#include <sys/mman.h>

/* As the kernel has them (linux/io_uring.h), whose headers no musl has. */
enum { OP_READ = 22, OP_WRITE = 23, ENTER_GETEVENTS = 1 };
enum { RING_SUBMITTED = 0, RING_COMPLETED = 0x8000000, RING_ENTRIES = 0x10000000 };

struct ring_offsets {
	uint32_t head, tail, mask, entries, flags_or_overflow, dropped_or_completions;
	uint32_t array_or_flags, reserved;
	uint64_t address;
};
struct ring_parameters {
	uint32_t            submissions, completions, flags, thread_processor, thread_idle;
	uint32_t            features, shared_queue, reserved[3];
	struct ring_offsets submitted, completed;
};
struct submission {
	uint8_t  operation, flags;
	uint16_t priority;
	int32_t  file;
	uint64_t offset, address;
	uint32_t bytes, access_flags;
	uint64_t tag;
	uint64_t unused[3];
};
struct completion {
	uint64_t tag;
	int32_t  result;
	uint32_t flags;
};

struct slot {
	struct filler filler;
	void         *room;
	uint64_t      block, began_ns;
};

static struct {
	int                    ring, is_writing;
	struct ring_parameters about;
	unsigned char         *submitted, *completed; /* the rings' memory */
	size_t                 submitted_bytes, completed_bytes, entries_bytes;
	struct submission     *entries;
	struct slot            slots[LANES_MOST];
} s = { .ring = -1 };

static void *map(size_t bytes, off_t what)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, s.ring,
	                   what);

	return start == MAP_FAILED ? NULL : start;
}

static int start_ring(void)
{
	s.ring = (int)syscall(SYS_io_uring_setup, (unsigned)queue_depth, &s.about);
	if (s.ring < 0)
		return errno == ENOSYS || errno == EPERM ? unsupported("there is no io_uring")
		                                         : fail("io_uring_setup");
	s.submitted_bytes = s.about.submitted.array_or_flags +
	                    s.about.submissions * sizeof(uint32_t);
	s.completed_bytes = s.about.completed.dropped_or_completions +
	                    s.about.completions * sizeof(struct completion);
	s.entries_bytes = s.about.submissions * sizeof(struct submission);
	s.submitted = map(s.submitted_bytes, RING_SUBMITTED);
	s.completed = map(s.completed_bytes, RING_COMPLETED);
	s.entries = map(s.entries_bytes, RING_ENTRIES);
	return s.submitted && s.completed && s.entries ? 0 : fail("mapping the queue");
}

int queue_begin(int is_writing)
{
	int outcome = phase_begin(is_writing ? O_RDWR : O_RDONLY, 1);

	s.is_writing = is_writing;
	if (outcome || (outcome = start_ring()))
		return outcome;
	if ((errno = posix_fadvise(phase_file, 0, 0, POSIX_FADV_RANDOM)))
		return fail("posix_fadvise");
	for (unsigned i = 0; i < queue_depth; i++) {
		s.slots[i].room = area_room();
		if (!s.slots[i].room)
			return fail("taking memory");
		if (is_writing && (outcome = filler_make(&s.slots[i].filler, i + 1)))
			return outcome;
	}
	return 0;
}

static uint32_t *submitted(unsigned offset)
{
	return (uint32_t *)(void *)(s.submitted + offset);
}

static uint32_t *completed(unsigned offset)
{
	return (uint32_t *)(void *)(s.completed + offset);
}

/* Puts the request of that slot into the ring; the kernel sees it at the next io_uring_enter. */
static void put(unsigned slot, uint64_t number)
{
	uint32_t           tail = *submitted(s.about.submitted.tail);
	uint32_t           index = tail & *submitted(s.about.submitted.mask);
	struct submission *entry = &s.entries[index];
	struct slot       *one = &s.slots[slot];
	const void        *memory;

	one->block = area_order[number % area_blocks];
	memory = s.is_writing ? filler_block(&one->filler, one->block) : one->room;
	memset(entry, 0, sizeof(*entry));
	entry->operation = s.is_writing ? OP_WRITE : OP_READ;
	entry->file = phase_file;
	entry->address = (uint64_t)(uintptr_t)memory;
	entry->bytes = (uint32_t)area_block;
	entry->offset = one->block * area_block;
	entry->tag = slot;
	submitted(s.about.submitted.array_or_flags)[index] = index;
	one->began_ns = lane_began(&meter_lanes[0]);
	__atomic_store_n(submitted(s.about.submitted.tail), tail + 1, __ATOMIC_RELEASE);
}

APART int queue_done(unsigned slot, int32_t result)
{
	int outcome;

	lane_ended(&meter_lanes[0], s.slots[slot].began_ns);
	if (result < 0)
		errno = -result;
	outcome = area_whole(result < 0 ? -1 : result,
	                     s.is_writing ? "io_uring write" : "io_uring read");
	if (result == -EINVAL)
		return unsupported("io_uring has no such request here");
	return outcome || s.is_writing ? outcome
	                               : area_check(s.slots[slot].room, s.slots[slot].block);
}

/* Takes what is done, and asks for as much again while there is any left to ask for. */
static int reap(uint64_t *asked, uint64_t *done, uint64_t operations, unsigned *added)
{
	uint32_t head = *completed(s.about.completed.head);
	uint32_t tail = __atomic_load_n(completed(s.about.completed.tail), __ATOMIC_ACQUIRE);
	int      outcome = 0;

	for (*added = 0; head != tail && !outcome; head++, ++*done) {
		const struct completion *all = (const void *)completed(
			s.about.completed.dropped_or_completions);
		const struct completion *entry = &all[head & *completed(s.about.completed.mask)];
		unsigned                 slot = (unsigned)entry->tag;

		outcome = queue_done(slot, entry->result);
		if (!outcome && *asked < operations) {
			put(slot, (*asked)++);
			++*added;
		}
	}
	__atomic_store_n(completed(s.about.completed.head), head, __ATOMIC_RELEASE);
	return outcome;
}

int queue_run(uint64_t operations)
{
	uint64_t asked = 0, done = 0;
	unsigned added = 0;

	while (asked < queue_depth && asked < operations) {
		put((unsigned)asked, asked);
		asked++;
		added++;
	}
	while (done < operations) {
		int outcome;

		if (syscall(SYS_io_uring_enter, s.ring, added, 1, ENTER_GETEVENTS, NULL, 0) < 0)
			return fail("io_uring_enter");
		if ((outcome = reap(&asked, &done, operations, &added)))
			return outcome;
	}
	return 0;
}

/* The kernel may still write into the rooms of requests that are under way, until the ring is
 * gone. */
void queue_end(void)
{
	if (s.ring >= 0)
		close(s.ring);
	if (s.submitted)
		munmap(s.submitted, s.submitted_bytes);
	if (s.completed)
		munmap(s.completed, s.completed_bytes);
	if (s.entries)
		munmap(s.entries, s.entries_bytes);
	for (unsigned i = 0; i < LANES_MOST; i++) {
		aligned_give(s.slots[i].room);
		filler_end(&s.slots[i].filler);
	}
	phase_end();
}
#else
int queue_begin(int is_writing)
{
	(void)is_writing;
	return unsupported("io_uring is Linux's");
}

int queue_run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

int queue_done(unsigned slot, int32_t result)
{
	(void)slot;
	(void)result;
	return OUTCOME_FAILED;
}

void queue_end(void)
{
}
#endif
