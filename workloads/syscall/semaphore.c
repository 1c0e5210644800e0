/* semaphore -- pass the turn between two processes by two POSIX semaphores.
 *
 * Measures     sem_post and sem_wait on semaphores that two processes share in memory, and the
 *              wake-ups and switches between them. An operation is a round trip: each process
 *              posts once and waits once.
 * Leaves out   making processes and semaphores (in setup), and named semaphores.
 * Beware       libc enters the kernel only when it must: on two processors a fast partner may have
 *              posted before the wait begins, and some libraries try for a while before they
 *              sleep. Hence no number of system calls is claimed. The semaphores are 128 bytes
 *              apart, so that no cache line belongs to both. The partner's passes are counted
 *              beside the semaphore it posts, and checked. On one processor it measures the
 *              scheduler.
 * After        lat_sem of lmbench (McVoy and Staelin), which uses System V's: semaphore_system_v.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdalign.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../workload.h"

#if defined(__clang__)
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noinline, noipa))
#endif

struct shared {
	alignas(128) sem_t there;
	alignas(128) sem_t back;
	volatile uint64_t passes; /* by the partner */
};

static struct {
	struct shared *shared;
	int            batch[2], ready[2]; /* round trips to do next; the partner's beginning */
	pid_t          partner;
} s = { .shared = MAP_FAILED, .batch = { -1, -1 }, .ready = { -1, -1 }, .partner = -1 };

static int wait_for(sem_t *semaphore)
{
	int answer;

	do
		answer = sem_wait(semaphore);
	while (answer && errno == EINTR);
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
			if (wait_for(&s.shared->there))
				return;
			s.shared->passes++;
			if (sem_post(&s.shared->back))
				return;
		}
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
	s.shared = mmap(NULL, sizeof(*s.shared), PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.shared == MAP_FAILED)
		return fail("mmap");
	if (sem_init(&s.shared->there, 1, 0) || sem_init(&s.shared->back, 1, 0))
		return errno == ENOSYS ? unsupported("processes cannot share POSIX semaphores")
		                       : fail("sem_init");
	return start();
}

OPAQUE int semaphore_round_trip(void);
OPAQUE int semaphore_round_trip(void)
{
	static uint64_t due;

	if (sem_post(&s.shared->there))
		return fail("sem_post");
	if (wait_for(&s.shared->back))
		return fail("sem_wait");
	if (s.shared->passes != ++due)
		return fail_check("the turn came back after %llu passes, not %llu",
		                  (unsigned long long)s.shared->passes, (unsigned long long)due);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	if (write_whole(s.batch[1], &operations, sizeof(operations)))
		return fail("write");
	while (operations-- && !outcome)
		outcome = semaphore_round_trip();
	return outcome;
}

static void teardown(void)
{
	for (int end = 0; end < 2; end++) {
		if (s.batch[end] >= 0)
			close(s.batch[end]);
		if (s.ready[end] >= 0)
			close(s.ready[end]);
	}
	partner_end(&s.partner);
	if (s.shared != MAP_FAILED)
		munmap(s.shared, sizeof(*s.shared));
}

const struct workload workload_semaphore = {
	.name      = "semaphore",
	.group     = "syscall",
	.summary   = "the turn passed between two processes by POSIX semaphores",
	.operation = "round trip",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.counted   = (void (*)(void))semaphore_round_trip,
};
