/* code.c -- makes bytes callable, and sees that the stack they need is there. See workload.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../workload.h"

enum { PAGE = 4096, SPARE = 32768 };

#if defined(__x86_64__)
static const char machine[] = "x86_64";
#elif defined(__aarch64__)
static const char machine[] = "aarch64";
#else
static const char machine[] = "another processor";
#endif

int code_map(const struct machine_code *code, void **callable)
{
	void *pages;

	if (strcmp(code->machine, machine))
		return unsupported("its machine code is for %s, and this program for %s", code->machine, machine);
	pages = mmap(NULL, code->count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return fail("mmap");
	memcpy(pages, code->bytes, code->count);
	__builtin___clear_cache((char *)pages, (char *)pages + code->count);
	if (mprotect(pages, code->count, PROT_READ | PROT_EXEC)) {
		int error = errno;

		munmap(pages, code->count);
		return unsupported("this system refuses to run code from memory: mprotect: %s", strerror(error));
	}
	*callable = pages;
	return 0;
}

void code_unmap(const struct machine_code *code, void **callable)
{
	if (*callable)
		munmap(*callable, code->count);
	*callable = NULL;
}

/* How far the stack of the first thread has grown already: from the highest thing that we know on it. */
static size_t stack_used(void)
{
	extern char **environ;
	uintptr_t     here = (uintptr_t)__builtin_frame_address(0), top = here;

	for (char **one = environ; one && *one; one++)
		if ((uintptr_t)*one > top)
			top = (uintptr_t)*one;
	/* An environment of our own making lies elsewhere. */
	return top - here < ((size_t)1 << 30) ? top - here : 0;
}

__attribute__((noinline)) static void touch(size_t bytes)
{
	volatile char *area = __builtin_alloca(bytes);

	for (size_t i = bytes; i > 0; i = i > PAGE ? i - PAGE : 0)
		area[i - 1] = 0;
}

int stack_take(size_t bytes)
{
	struct rlimit limit;
	size_t        used = stack_used() + SPARE;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (limit.rlim_cur < used || limit.rlim_cur - used < bytes))
		return unsupported("it needs %zu bytes of stack, and the limit is %llu with %zu in use", bytes,
		                   (unsigned long long)limit.rlim_cur, used - SPARE);
	touch(bytes);
	return 0;
}
