/* semaphore -- pass the turn between two processes by two semaphores.
 *
 * Measures     sem_post and sem_wait on POSIX semaphores in shared memory, with the wake-ups and
 *              switches between the two processes. An operation is a round trip: each process posts
 *              once and waits once. Under Wine, ReleaseSemaphore and WaitForSingleObject on
 *              semaphores of the kernel, because no others work between processes.
 * Leaves out   creating the process and the semaphores (in setup), and finding semaphores by name.
 * Beware       the C library enters the kernel only when it must. On two processors a fast partner
 *              may have posted before the wait begins, and some libraries spin before they sleep.
 *              Windows' functions enter the kernel each time. So no number of system calls is
 *              claimed. The semaphores in memory are 128 bytes apart, so that they share no cache
 *              line. Shared memory counts the partner's passes, and they are checked. On one
 *              processor it measures the scheduler.
 * After        lat_sem of lmbench (McVoy and Staelin), which uses System V semaphores
 *              (semaphore_system_v).
 */
#include <errno.h>
#include <stdalign.h>

#include "../api/workload.h"
#include "turn.h"

enum semaphore { THERE, BACK, SEMAPHORES };

#ifdef _WIN32
static int make(void)
{
	for (int i = 0; i < SEMAPHORES; i++) {
		SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
		HANDLE              made = CreateSemaphoreW(&inherited, 0, 1, NULL);

		if (!made) {
			windows_failed();
			return fail("CreateSemaphore");
		}
		turn.objects[i] = (intptr_t)made;
	}
	return 0;
}

static inline int post(enum semaphore which)
{
	return ReleaseSemaphore((HANDLE)turn.objects[which], 1, NULL) ? 0 : windows_failed();
}

static inline int wait_for(enum semaphore which)
{
	DWORD answer = WaitForSingleObject((HANDLE)turn.objects[which], INFINITE);

	return answer == WAIT_OBJECT_0 ? 0 : windows_failed();
}
#else
#include <semaphore.h>

struct padded {
	alignas(128) sem_t semaphore;
};
_Static_assert(SEMAPHORES * sizeof(struct padded) <= TURN_ROOM,
               "they must fit into what is shared");

static inline sem_t *at(enum semaphore which)
{
	return &((struct padded *)turn_shared)[which].semaphore;
}

static int make(void)
{
	for (int i = 0; i < SEMAPHORES; i++)
		if (sem_init(at((enum semaphore)i), 1, 0))
			return errno == ENOSYS
			               ? unsupported("processes cannot share POSIX semaphores")
			               : fail("sem_init");
	return 0;
}

static inline int post(enum semaphore which)
{
	return sem_post(at(which));
}

static inline int wait_for(enum semaphore which)
{
	int answer;

	do
		answer = sem_wait(at(which));
	while (answer && errno == EINTR);
	return answer;
}
#endif

static void serve(void)
{
	uint64_t trips;

	if (turn_join() || turn_ready())
		return;
	while (turn_batch(&trips))
		while (trips--) {
			if (wait_for(THERE))
				return;
			++*turn_passes;
			if (post(BACK))
				return;
		}
}

static int setup(void)
{
	int outcome;

	if ((outcome = turn_share()) || (outcome = make()))
		return outcome;
	return turn_start(serve);
}

APART int semaphore_round_trip(void);
APART int semaphore_round_trip(void)
{
	if (post(THERE))
		return fail("posting");
	if (wait_for(BACK))
		return fail("waiting");
	return turn_check();
}

static int run(uint64_t operations)
{
	int outcome = turn_give(operations);

	while (operations-- && !outcome)
		outcome = semaphore_round_trip();
	return outcome;
}

const struct workload workload_semaphore = {
	.name = "semaphore",
	.group = "syscall",
	.summary = "the turn passed between two processes by semaphores",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = turn_end,
	.counted = (void (*)(void))semaphore_round_trip,
};
