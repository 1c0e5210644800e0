/* machine_code.c -- makes bytes callable, and sees that the stack they need is there. See
 * workloads/api/workload.h. */
#include <errno.h>
#include <string.h>

#include "../workloads/api/workload.h"
#include "system.h"

enum { SPARE = 32768 }; /* for what is called besides the code */

#if defined(__x86_64__)
static const char machine[] = "x86_64";
#elif defined(__aarch64__)
static const char machine[] = "aarch64";
#else
static const char machine[] = "another processor";
#endif

int machine_code_map(const struct machine_code *code, void **callable)
{
	if (strcmp(code->machine, machine))
		return unsupported("its machine code is for %s, and this program for %s",
		                   code->machine, machine);
	*callable = code_map(code->bytes, code->count);
	return *callable ? 0
	                 : unsupported("this system refuses to run code from memory: %s",
	                               system_error(errno));
}

void machine_code_unmap(const struct machine_code *code, void **callable)
{
	if (*callable)
		code_unmap(*callable, code->count);
	*callable = NULL;
}

/* From the top down, because some systems give a stack a page at a time, and only the next one. */
__attribute__((noinline)) void stack_touch(size_t bytes)
{
	volatile char *area = __builtin_alloca(bytes);
	size_t         page = page_bytes();

	for (size_t i = bytes; i > 0; i = i > page ? i - page : 0)
		area[i - 1] = 0;
}

int stack_take(size_t bytes)
{
	size_t left = stack_left();

	if (left < bytes + SPARE)
		return unsupported("it needs %zu bytes of stack, and %zu are left of it", bytes,
		                   left);
	stack_touch(bytes);
	return 0;
}
