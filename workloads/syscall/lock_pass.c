/* lock_pass -- pass the turn between two processes by locks on a file.
 *
 * Measures     POSIX record locks as the only means by which two processes wait for each other. An
 *              operation is a round trip: four calls of fcntl, of which two wait, and two switches
 *              between processes.
 * Leaves out   making processes and file (in setup), and the disk: nothing is written there.
 * Beware       with two locks the one who lets go could take the lock again before the other
 *              wakes. So there are three, on three bytes: whoever has the turn holds two, the
 *              other holds the third and waits for the one that is let go next. No lock is ever
 *              wanted by both. Whose turn it was is counted in shared memory and checked at every
 *              pass. On one processor it measures the scheduler, on two also wake-ups between
 *              processors.
 * After        lat_fcntl of lmbench (McVoy and Staelin).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../workload.h"

enum { LOCKS = 3 };

static const char name[] = "lock_pass";

static struct {
	int                file;
	int                batch[2], ready[2]; /* round trips to do next; the partner's beginning */
	pid_t              partner;
	volatile uint64_t *passes; /* by the partner, in memory that both share */
} s = { .file = -1, .batch = { -1, -1 }, .ready = { -1, -1 }, .partner = -1, .passes = MAP_FAILED };

/* Sets or frees the lock on one of three bytes, which `turn` goes through; waits for it. */
static int lock(short type, uint64_t turn)
{
	struct flock one = { .l_type   = type,
		             .l_whence = SEEK_SET,
		             .l_start  = (off_t)(turn % LOCKS),
		             .l_len    = 1 };
	int          answer;

	do
		answer = fcntl(s.file, F_SETLKW, &one);
	while (answer < 0 && errno == EINTR);
	return answer;
}

/* The other process begins with lock 2. It waits for 1, frees 2; waits for 0, frees 1; ... */
static void serve(void)
{
	uint64_t trips, turn = 1;

	close(s.batch[1]);
	close(s.ready[0]);
	if (lock(F_WRLCK, 2) || write_whole(s.ready[1], "", 1))
		return;
	while (!read_whole(s.batch[0], &trips, sizeof(trips)))
		for (; trips--; turn += 2) {
			if (lock(F_WRLCK, turn))
				return;
			++*s.passes;
			if (lock(F_UNLCK, turn + 1))
				return;
		}
}

static int share(void)
{
	void *shared = mmap(NULL, sizeof(*s.passes), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return fail("mmap");
	s.passes = shared;
	return 0;
}

/* The partner must be there, with its lock, before the first batch. */
static int start(void)
{
	char byte;

	if (pipe(s.batch) || pipe(s.ready))
		return fail("pipe");
	s.partner = partner_start(serve, NULL, 0);
	if (s.partner < 0)
		return fail("fork");
	close(s.batch[0]);
	close(s.ready[1]);
	s.batch[0] = s.ready[1] = -1;
	return read_whole(s.ready[0], &byte, 1) ? fail_check("the partner could not begin") : 0;
}

static int setup(void)
{
	int outcome = share();

	if (outcome)
		return outcome;
	if (chdir(trial_directory()))
		return fail("chdir");
	s.file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (s.file < 0)
		return fail("open");
	if (lock(F_WRLCK, 0) || lock(F_WRLCK, 1))
		return unsupported("a file here cannot be locked: %s", strerror(errno));
	return start();
}

/* This process begins with locks 0 and 1. It frees 1, waits for 2; frees 0, waits for 1; ... */
static int run(uint64_t operations)
{
	static uint64_t turn = 1, due;

	if (write_whole(s.batch[1], &operations, sizeof(operations)))
		return fail("write");
	for (; operations--; turn += 2) {
		if (lock(F_UNLCK, turn) || lock(F_WRLCK, turn + 1))
			return fail("fcntl");
		if (*s.passes != ++due)
			return fail_check("the turn came back after %llu passes, not %llu",
			                  (unsigned long long)*s.passes, (unsigned long long)due);
	}
	return 0;
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++) {
		if (s.batch[end] >= 0)
			close(s.batch[end]);
		if (s.ready[end] >= 0)
			close(s.ready[end]);
	}
	if (s.file >= 0) {
		close(s.file); /* which frees this process's locks */
		unlink(name);
	}
	partner_end(&s.partner);
	if (s.passes != MAP_FAILED)
		munmap((void *)s.passes, sizeof(*s.passes));
}

static const struct call calls[] = { { "fcntl", 4 }, { 0 } };

const struct workload workload_lock_pass = {
	.name      = "lock_pass",
	.group     = "syscall",
	.summary   = "the turn passed between two processes by locks on a file",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
