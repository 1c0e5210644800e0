/* memory.c -- how much memory there is, how much of it a workload may take, and pages of it. See
 * workloads/api/workload.h and ../system.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#endif

#include "../../workloads/api/workload.h"
#include "../system.h"
#include "allowance.h"

static uint64_t swap_bytes;

static uint64_t memory_bytes(void)
{
#ifdef __linux__
	struct sysinfo info;

	if (sysinfo(&info) == 0) {
		swap_bytes = (uint64_t)info.totalswap * info.mem_unit;
		return allowance_memory((uint64_t)info.totalram * info.mem_unit);
	}
#endif
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_allowed(void)
{
	uint64_t bytes = memory_bytes();

	/* Set by the agent in a guest that was started with a swap device: only there may a
	 * workload outgrow memory, because only the guest pages then. */
	if (getenv("STEELYARD_PAGING"))
		return (bytes + swap_bytes) / 10 * 9;
	return bytes / 4;
}

size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void *memory_take(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

void memory_give(void *start, size_t bytes)
{
	munmap(start, bytes);
}

void memory_small_pages(void *start, size_t bytes)
{
#ifdef MADV_NOHUGEPAGE
	madvise(start, bytes, MADV_NOHUGEPAGE); /* a kernel that has no huge ones refuses, as is
	                                           right */
#else
	(void)start;
	(void)bytes;
#endif
}

void *aligned_take(size_t alignment, size_t bytes)
{
	return aligned_alloc(alignment, bytes);
}

void aligned_give(void *start)
{
	free(start);
}

void *code_map(const void *code, size_t bytes)
{
	void *start = memory_take(bytes);

	if (!start)
		return NULL;
	memcpy(start, code, bytes);
	if (mprotect(start, bytes, PROT_READ | PROT_EXEC)) {
		int error = errno;

		munmap(start, bytes);
		errno = error;
		return NULL;
	}
	__builtin___clear_cache((char *)start, (char *)start + bytes);
	return start;
}

void code_unmap(void *start, size_t bytes)
{
	munmap(start, bytes);
}

/* From its highest inhabitant that we know of to here. */
static size_t stack_used(void)
{
	extern char **environ;
	uintptr_t     here = (uintptr_t)__builtin_frame_address(0), top = here;

	for (char **one = environ; one && *one; one++)
		if ((uintptr_t)*one > top)
			top = (uintptr_t)*one;
	/* An environment of somebody's making may lie elsewhere. */
	return top - here < ((size_t)1 << 30) ? top - here : 0;
}

size_t stack_left(void)
{
	struct rlimit limit;
	size_t        used = stack_used();

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return (uint64_t)limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
}

void memory_offer(void)
{
#ifdef __linux__
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return;
	if (write(file, "1000", 4) < 0)
		errno = 0; /* then the kernel chooses by size: a large process is the likelier
		              still */
	close(file);
#endif
}

/* A file without a name: in memory where the kernel has such, else one unlinked at once. */
static int shared_file(void)
{
#ifdef __linux__
	int in_memory = (int)syscall(SYS_memfd_create, "steelyard", 1u /* MFD_CLOEXEC */);

	if (in_memory >= 0 || errno != ENOSYS)
		return in_memory;
#endif
	char name[PATH_MAX];
	int  file;

	snprintf(name, sizeof(name), "%s/shared-XXXXXX", trial_directory());
	file = mkostemp(name, O_CLOEXEC);
	if (file >= 0)
		unlink(name);
	return file;
}

void *shared_make(size_t bytes, intptr_t *handle)
{
	int   file = shared_file(), error;
	void *start;

	if (file < 0)
		return NULL;
	if (!ftruncate(file, (off_t)bytes) && (start = shared_open(file, bytes))) {
		*handle = file;
		return start;
	}
	error = errno;
	close(file);
	errno = error;
	return NULL;
}

void *shared_open(intptr_t handle, size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)handle, 0);

	return start == MAP_FAILED ? NULL : start;
}

void shared_unmap(void *start, size_t bytes)
{
	munmap(start, bytes);
}

void shared_close(intptr_t handle)
{
	close((int)handle);
}
