/* semaphore_system_v -- pass the turn between two processes by two System V semaphores.
 *
 * Measures     semop, used as the only means by which two processes wait for each other: every
 *              change of a semaphore is a system call. An operation is a round trip: four calls, of
 *              which two wait, and two switches between the processes.
 * Leaves out   creating the process and the semaphores (in setup), and undoing changes when a
 *              process ends (SEM_UNDO).
 * Beware       such semaphores outlive the processes that use them, even killed ones. So the trial
 *              enters an IPC namespace of its own, which takes them along at its end, if need be in
 *              a user namespace of its own. Where it can have none, the workload is unsupported.
 *              Shared memory counts the partner's passes, and each round trip is checked. On one
 *              processor it measures the scheduler, on two also the wake-ups between processors.
 * After        lat_sem of lmbench (McVoy and Staelin).
 */
#include "../api/workload.h"

#ifdef __linux__
#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "../api/kernel_call.h"
#include "turn.h"

enum { THERE, BACK, SEMAPHORES };

static int set = -1;

/* Adds to a semaphore, or waits until one can be taken from it. By number where there is one:
 * libraries make different system calls of semop. */
static int change(unsigned short which, short by)
{
	struct sembuf one = { .sem_num = which, .sem_op = by };
	int           answer;

	do
#ifdef SYS_semop
		answer = (int)kernel_call(SYS_semop, (long)set, &one, 1L);
#else
		answer = semop(set, &one, 1);
#endif
	while (answer < 0 && errno == EINTR);
	return answer;
}

static void serve(void)
{
	uint64_t trips;

	if (turn_join() || turn_ready())
		return;
	while (turn_batch(&trips))
		while (trips--) {
			if (change(THERE, -1))
				return;
			++*turn_passes;
			if (change(BACK, 1))
				return;
		}
}

/* A namespace whose objects go with its last process, killed or not. */
static int take_namespace(void)
{
	if (unshare(CLONE_NEWIPC) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0)
		return 0;
	return unsupported("System V semaphores would outlive a killed trial, and it can have "
	                   "cannot create an IPC namespace: %s",
	                   strerror(errno));
}

static int setup(void)
{
	int outcome;

	if ((outcome = turn_share()) || (outcome = take_namespace()))
		return outcome;
	set = semget(IPC_PRIVATE, SEMAPHORES, IPC_CREAT | 0600);
	if (set < 0)
		return errno == ENOSYS ? unsupported("there are no System V semaphores")
		                       : fail("semget");
	/* POSIX leaves the first values open; Linux makes them 0, and is asked. */
	for (int which = 0; which < SEMAPHORES; which++)
		if (semctl(set, which, GETVAL) != 0)
			return fail_check("a new semaphore is not 0");
	return turn_start(serve);
}

static int run(uint64_t operations)
{
	int outcome = turn_give(operations);

	while (operations-- && !outcome) {
		if (change(THERE, 1) || change(BACK, -1))
			return fail("semop");
		outcome = turn_check();
	}
	return outcome;
}

static void teardown(void)
{
	if (set >= 0)
		semctl(set, 0, IPC_RMID); /* which ends a partner that waits */
	turn_end();
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
	.name = "semaphore_system_v",
	.group = "syscall",
	.summary = "the turn passed between two processes by System V semaphores",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
