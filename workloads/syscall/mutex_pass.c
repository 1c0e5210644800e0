/* mutex_pass -- pass the turn between two processes by mutexes.
 *
 * Measures     POSIX mutexes in shared memory, used as the only means by which two processes wait
 *              for each other. In an operation, a round trip, each process releases two mutexes and
 *              takes two, and waits for one of these; wake-ups and switches are included. Under
 *              Wine, ReleaseMutex and WaitForSingleObject on mutexes of the kernel, because no
 *              others work between processes.
 * Leaves out   creating the process and the mutexes (in setup). An uncontended mutex, which costs
 *              an instruction or two on POSIX.
 * Beware       there are three mutexes for the reason given in lock_pass: the process that has the
 *              turn holds two, and the other holds the third and waits for the next one to be
 *              released. The C library enters the kernel only when it must, and Windows' functions
 *              enter it each time; so no number of system calls is claimed. A thread may take a
 *              Windows mutex again that it holds, and learns of an owner that died; the POSIX
 *              mutexes are plain ones that do neither. The mutexes in memory are 128 bytes apart.
 *              Shared memory counts the partner's passes, and they are checked. On one processor it
 *              measures the scheduler.
 * After        lat_fcntl of lmbench (McVoy and Staelin), with mutexes.
 */
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "../api/workload.h"
#include "turn.h"

enum { MUTEXES = 3 };

#ifdef _WIN32
static int make(void)
{
	for (int i = 0; i < MUTEXES; i++) {
		SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
		HANDLE              made = CreateMutexW(&inherited, FALSE, NULL);

		if (!made) {
			windows_failed();
			return fail("CreateMutex");
		}
		turn.objects[i] = (intptr_t)made;
	}
	return 0;
}

/* One whose owner died is refused: no one would have the turn. */
static inline int take(uint64_t which)
{
	switch (WaitForSingleObject((HANDLE)turn.objects[which % MUTEXES], INFINITE)) {
	case WAIT_OBJECT_0:
		return 0;
	case WAIT_ABANDONED:
		return windows_failed_as(ERROR_SEM_OWNER_DIED);
	default:
		return windows_failed();
	}
}

static inline int let_go(uint64_t which)
{
	return ReleaseMutex((HANDLE)turn.objects[which % MUTEXES]) ? 0 : windows_failed();
}
#else
#include <pthread.h>

struct padded {
	alignas(128) pthread_mutex_t mutex;
};
_Static_assert(MUTEXES * sizeof(struct padded) <= TURN_ROOM, "they must fit into what is shared");

static inline pthread_mutex_t *at(uint64_t which)
{
	return &((struct padded *)turn_shared)[which % MUTEXES].mutex;
}

static int make(void)
{
	pthread_mutexattr_t shared;
	int                 error = pthread_mutexattr_init(&shared);

	if (!error)
		error = pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	if (error)
		return unsupported("processes cannot share mutexes: %s", strerror(error));
	for (uint64_t i = 0; i < MUTEXES && !error; i++)
		error = pthread_mutex_init(at(i), &shared);
	pthread_mutexattr_destroy(&shared);
	errno = error;
	return error ? fail("pthread_mutex_init") : 0;
}

static inline int take(uint64_t which)
{
	errno = pthread_mutex_lock(at(which));
	return errno ? -1 : 0;
}

static inline int let_go(uint64_t which)
{
	errno = pthread_mutex_unlock(at(which));
	return errno ? -1 : 0;
}
#endif

static void serve(void)
{
	if (!turn_join() && !take(2) && !turn_ready())
		turn_serve_by_three(take, let_go);
}

static int setup(void)
{
	int outcome;

	if ((outcome = turn_share()) || (outcome = make()))
		return outcome;
	if (take(0) || take(1))
		return fail("taking a mutex");
	return turn_start(serve);
}

/* This process begins with mutexes 0 and 1. It frees 1, waits for 2; frees 0, waits for 1; ... */
APART int mutex_pass_round_trip(void);
APART int mutex_pass_round_trip(void)
{
	static uint64_t which = 1;

	if (let_go(which))
		return fail("letting a mutex go");
	if (take(which + 1))
		return fail("taking a mutex");
	which += 2;
	return turn_check();
}

static int run(uint64_t operations)
{
	int outcome = turn_give(operations);

	while (operations-- && !outcome)
		outcome = mutex_pass_round_trip();
	return outcome;
}

const struct workload workload_mutex_pass = {
	.name = "mutex_pass",
	.group = "syscall",
	.summary = "the turn passed between two processes by mutexes",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = turn_end,
	.counted = (void (*)(void))mutex_pass_round_trip,
};
