/* lock_pass -- pass the turn between two processes by locks on a file.
 *
 * Measures     POSIX record locks, used as the only means by which two processes wait for each
 *              other. An operation is a round trip: four calls of fcntl, of which two wait, and two
 *              switches between the processes. Under Wine, LockFileEx and UnlockFileEx, whose locks
 *              belong to an open file and also stop reads and writes.
 * Leaves out   creating the process and the file (in setup), and the disk: nothing is written
 *              there.
 * Beware       with two locks, a process could take back the lock that it has just released, before
 *              the other one wakes. So there are three, on three bytes: the process that has the
 *              turn holds two, and the other holds the third and waits for the next one to be
 *              released. The two never compete for one lock. Shared memory counts the turns, and
 *              each pass is checked. On one processor it measures the scheduler, on two also the
 *              wake-ups between processors.
 * After        lat_fcntl of lmbench (McVoy and Staelin).
 */
#include <errno.h>

#include "../api/handle.h"
#include "../api/workload.h"
#include "turn.h"

enum { LOCKS = 3 };

static const name_letter name[] = NAME("lock_pass");

static handle file = NO_HANDLE;

#ifdef _WIN32
static inline int take(uint64_t which)
{
	OVERLAPPED one = { .Offset = (DWORD)(which % LOCKS) };

	return LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &one) ? 0 : windows_failed();
}

static inline int let_go(uint64_t which)
{
	OVERLAPPED one = { .Offset = (DWORD)(which % LOCKS) };

	return UnlockFileEx(file, 0, 1, 0, &one) ? 0 : windows_failed();
}
#else
static inline int lock(short type, uint64_t which)
{
	struct flock one = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(which % LOCKS), .l_len = 1
	};
	int answer;

	do
		answer = kernel_fcntl(file, F_SETLKW, &one);
	while (answer < 0 && errno == EINTR);
	return answer;
}

/* The lock on one of three bytes, which `which` goes through; waits for it. */
static inline int take(uint64_t which)
{
	return lock(F_WRLCK, which);
}

static inline int let_go(uint64_t which)
{
	return lock(F_UNLCK, which);
}
#endif

/* It opens the file itself: on Windows a lock is an open file's, not a process's. */
static void serve(void)
{
	if (!turn_join() && (file = handle_open(name, HANDLE_READ_WRITE)) != NO_HANDLE &&
	    !take(2) && !turn_ready())
		turn_serve_by_three(take, let_go);
}

static int setup(void)
{
	int outcome;

	if ((outcome = turn_share()) || (outcome = handle_begin()))
		return outcome;
	file = handle_open(name, HANDLE_EMPTY);
	if (file == NO_HANDLE)
		return fail("opening the file");
	if (take(0) || take(1))
		return unsupported("a file here cannot be locked: %s", system_error(errno));
	return turn_start(serve);
}

/* This process begins with locks 0 and 1. It frees 1, waits for 2; frees 0, waits for 1; ... */
static int run(uint64_t operations)
{
	static uint64_t which = 1;
	int             outcome = turn_give(operations);

	for (; operations-- && !outcome; which += 2) {
		if (let_go(which) || take(which + 1))
			return fail("locking");
		outcome = turn_check();
	}
	return outcome;
}

static void teardown(void)
{
	if (file != NO_HANDLE)
		handle_close(file); /* which frees this process's locks */
	turn_end();
	if (file != NO_HANDLE)
		handle_remove(name);
}

static const struct call calls[] = { { "fcntl", 4 }, { 0 } };

const struct workload workload_lock_pass = {
	.name = "lock_pass",
	.group = "syscall",
	.summary = "the turn passed between two processes by locks on a file",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
