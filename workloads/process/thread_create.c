/* thread_create -- make a thread that ends at once, and wait for its end.
 *
 * Measures     pthread_create as the C library has it (a stack, the thread's own variables, clone),
 *              the new thread's first turn, its end, the wake-up of its maker, pthread_join. On Windows
 *              CreateThread, the same turn, the wait for its handle, and the handle's closing.
 * Leaves out   any work of the thread: it returns its argument's complement, which proves that it
 *              ran.
 * Beware       one thread is alive besides the first at any time. glibc keeps an ended thread's
 *              stack and gives it to the next; musl maps and unmaps one each time. The stack's size
 *              is the library's own. With place=0 the thread may begin on another processor, with
 *              place=1 and 2 it stays on its maker's (on Windows, with place=2, on one of the two).
 * After        lat_proc of lmbench (McVoy and Staelin, 1996), there with processes.
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
	.name      = "thread_create",
	.group     = "process",
	.summary   = "a thread that returns at once, and the wait for it",
	.operation = "thread",
	.run       = run,
	.calls     = calls,
};
