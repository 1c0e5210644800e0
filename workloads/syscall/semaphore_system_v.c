/* semaphore_system_v -- pass the turn between two processes by two System V semaphores.
 *
 * Measures     semop as the only means by which two processes wait for each other: every change of
 *              a semaphore is a system call. An operation is a round trip: four calls, of which
 *              two wait, and two switches between processes.
 * Leaves out   making processes and semaphores (in setup), and undoing at a process's end
 *              (SEM_UNDO).
 * Beware       such semaphores outlive the processes that use them, even killed ones. So the trial
 *              takes an IPC namespace of its own, with which they go; where none can be had, in a
 *              user namespace of its own if need be, the workload is unsupported. The partner's
 *              passes are counted in shared memory and checked at every round trip. On one
 *              processor it measures the scheduler, on two also wake-ups between processors.
 * After        lat_sem of lmbench (McVoy and Staelin).
 */
#include "../workload.h"

#ifdef __linux__
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THERE, BACK, SEMAPHORES };

static struct {
	int                set;
	int                batch[2], ready[2]; /* round trips to do next; the partner's beginning */
	pid_t              partner;
	volatile uint64_t *passes; /* by the partner, in memory that both share */
} s = { .set = -1, .batch = { -1, -1 }, .ready = { -1, -1 }, .partner = -1, .passes = MAP_FAILED };

/* Adds to a semaphore, or waits until one can be taken from it. By number where there is one:
 * libraries make different system calls of semop. */
static int change(unsigned short which, short by)
{
	struct sembuf one = { .sem_num = which, .sem_op = by };
	int           answer;

	do
#ifdef SYS_semop
		answer = (int)syscall(SYS_semop, s.set, &one, 1);
#else
		answer = semop(s.set, &one, 1);
#endif
	while (answer < 0 && errno == EINTR);
	return answer;
}

static void serve(void)
{
	uint64_t trips;

	close(s.batch[1]);
	close(s.ready[0]);
	if (write_whole(s.ready[1], "", 1))
		return;
	while (!read_whole(s.batch[0], &trips, sizeof(trips)))
		while (trips--) {
			if (change(THERE, -1))
				return;
			++*s.passes;
			if (change(BACK, 1))
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

/* A namespace whose objects go with its last process, killed or not. */
static int take_namespace(void)
{
	if (unshare(CLONE_NEWIPC) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0)
		return 0;
	return unsupported("System V semaphores would outlive a killed trial, and it can have "
	                   "no IPC namespace of its own: %s", strerror(errno));
}

/* The partner must be there before the first batch, or that would measure how it came to run. */
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
	int outcome;

	if ((outcome = share()) || (outcome = take_namespace()))
		return outcome;
	s.set = semget(IPC_PRIVATE, SEMAPHORES, IPC_CREAT | 0600);
	if (s.set < 0)
		return errno == ENOSYS ? unsupported("there are no System V semaphores")
		                       : fail("semget");
	/* POSIX leaves the first values open; Linux makes them 0, and is asked. */
	for (int which = 0; which < SEMAPHORES; which++)
		if (semctl(s.set, which, GETVAL) != 0)
			return fail_check("a new semaphore is not 0");
	return start();
}

static int run(uint64_t operations)
{
	static uint64_t due;

	if (write_whole(s.batch[1], &operations, sizeof(operations)))
		return fail("write");
	while (operations--) {
		if (change(THERE, 1) || change(BACK, -1))
			return fail("semop");
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
	if (s.set >= 0)
		semctl(s.set, 0, IPC_RMID); /* which ends a partner that waits */
	partner_end(&s.partner);
	if (s.passes != MAP_FAILED)
		munmap((void *)s.passes, sizeof(*s.passes));
}

#ifdef SYS_semop
static const struct call calls[] = { { "semop", 4 }, { 0 } };
#else
static const struct call calls[] = { { 0 } };
#endif
#else
static int setup(void)
{
	return unsupported("System V semaphores would outlive a killed trial");
}

static int run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

static void teardown(void)
{
}

static const struct call calls[] = { { 0 } };
#endif

const struct workload workload_semaphore_system_v = {
	.name      = "semaphore_system_v",
	.group     = "syscall",
	.summary   = "the turn passed between two processes by System V semaphores",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
