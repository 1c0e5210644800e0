/* thread_create -- create a thread that ends at once, and wait for its end.
 *
 * Measures     the C library's pthread_create (a stack, the thread's own variables, clone), the new
 *              thread's first turn, its end, the wake-up of its creator, and pthread_join. Under
 *              Wine, CreateThread, the same turn, waiting for the handle, and closing it.
 * Leaves out   work in the thread: it returns the complement of its argument, which proves that it
 *              ran.
 * Beware       besides the first thread, only one exists at any time. glibc keeps the stack of a
 *              thread that has ended and gives it to the next one; musl maps and unmaps a stack
 *              each time. The size of the stack is the C library's choice. With place=0 the thread
 *              may start on another processor; with place=1 and 2 it stays on its creator's (under
 *              Wine, with place=2, on one of the two).
 * After        lat_proc of lmbench (McVoy and Staelin, 1996), which creates processes.
 */
#include "../api/workload.h"

#ifdef _WIN32
#include "../api/windows/error.h"

/* A thread's answer is 32 bits there. */
static DWORD WINAPI thread(void *argument)
{
	return ~(DWORD)(uintptr_t)argument;
}

static int run(uint64_t operations)
{
	while (operations--) {
		uintptr_t number = (uintptr_t)operations;
		HANDLE    made = CreateThread(NULL, 0, thread, (void *)number, 0, NULL);
		DWORD     answer;

		if (!made) {
			windows_failed();
			return fail("CreateThread");
		}
		if (WaitForSingleObject(made, INFINITE) != WAIT_OBJECT_0 ||
		    !GetExitCodeThread(made, &answer)) {
			windows_failed();
			return fail("waiting for the thread");
		}
		CloseHandle(made);
		if (answer != ~(DWORD)number)
			return fail_check("the thread returned %lu for %lu", answer, (DWORD)number);
	}
	return 0;
}
#else
#include <errno.h>
#include <pthread.h>

static void *thread(void *argument)
{
	return (void *)~(uintptr_t)argument;
}

static int run(uint64_t operations)
{
	while (operations--) {
		uintptr_t number = (uintptr_t)operations;
		pthread_t made;
		void     *answer;

		errno = pthread_create(&made, NULL, thread, (void *)number);
		if (errno)
			return fail("pthread_create");
		errno = pthread_join(made, &answer);
		if (errno)
			return fail("pthread_join");
		if ((uintptr_t)answer != ~number)
			return fail_check("the thread returned %p for %p", answer, (void *)number);
	}
	return 0;
}
#endif

/* A thread's end; what begins it (clone or clone3) is the library's choice. */
static const struct call calls[] = { { "exit", 1 }, { 0 } };

const struct workload workload_thread_create = {
	.name = "thread_create",
	.group = "process",
	.summary = "a thread that returns at once, and its end",
	.operation = "thread",
	.run = run,
	.calls = calls,
};
