/* futex_pass -- pass the turn between two threads by waiting and waking on a word of memory.
 *
 * Measures     per round trip, two futex waits, two futex wakes and the switches between the two
 *              threads. Every contended lock or condition variable of the C library comes down to
 *              this.
 * Leaves out   the C library's own work around the futex, creating the thread (in setup), and
 *              switches between address spaces: the threads share one.
 * Beware       the thread always makes the waiting call, and does not look at the word first. On
 *              two processors the partner may be so fast that the kernel answers at once that the
 *              word has changed. A late wake may also end the next wait early; that wait is then
 *              repeated. So the number of calls varies, and no number is claimed. On one processor
 *              it measures the scheduler.
 * After        no other suite; Franke, Russell and Kirkwood (2002) described the call.
 */
#include "../api/workload.h"

#ifdef __linux__
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../api/kernel_call.h"

#if defined(SYS_futex)
#define NUMBER_OF_CALL SYS_futex
#else
#define NUMBER_OF_CALL SYS_futex_time64
#endif

/* The kernel's numbers; its header is not among every compiler's. */
enum { WAIT_PRIVATE = 0 | 128, WAKE_PRIVATE = 1 | 128 };

/* What the word says. */
enum { OURS, PARTNERS, ENDED, FAILED };

static struct {
	_Atomic uint32_t turn;
	int              started;
	int              error;  /* errno of the partner that FAILED */
	uint64_t         passes; /* by the partner; the turn's owner may look */
	pthread_t        partner;
} s;

static long futex(int action, uint32_t value)
{
	return kernel_call(NUMBER_OF_CALL, &s.turn, (long)action, (unsigned long)value, NULL, NULL,
	                   0L);
}

/* Sleeps while the word says `turn`. */
static int wait_while(uint32_t turn)
{
	do
		if (futex(WAIT_PRIVATE, turn) < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
	while (atomic_load(&s.turn) == turn);
	return 0;
}

static int pass(uint32_t turn)
{
	atomic_store(&s.turn, turn);
	return futex(WAKE_PRIVATE, 1) < 0 ? -1 : 0;
}

static void *serve(void *nothing)
{
	int bad = partner_place();

	/* At first the turn is the partner's. */
	while (!bad && atomic_load(&s.turn) != ENDED) {
		s.passes++;
		bad = pass(OURS) || wait_while(OURS);
	}
	if (bad) {
		s.error = errno;
		pass(FAILED);
	}
	return nothing;
}

static int setup(void)
{
	int error;

	if (futex(WAKE_PRIVATE, 1) < 0)
		return errno == ENOSYS ? unsupported("there is no futex") : fail("futex");
	s.turn = PARTNERS;
	error = pthread_create(&s.partner, NULL, serve, NULL);
	if (error) {
		errno = error;
		return fail("pthread_create");
	}
	s.started = 1;
	if (wait_while(PARTNERS))
		return fail("futex");
	if (s.turn != OURS)
		return fail_check("the partner could not begin: %s", strerror(s.error));
	return 0;
}

APART int futex_pass_round_trip(void);
APART int futex_pass_round_trip(void)
{
	if (pass(PARTNERS) || wait_while(PARTNERS))
		return fail("futex");
	if (atomic_load(&s.turn) != OURS)
		return fail_check("the partner failed: %s", strerror(s.error));
	return 0;
}

static int run(uint64_t operations)
{
	uint64_t due = s.passes + operations;
	int      outcome = 0;

	while (operations-- && !outcome)
		outcome = futex_pass_round_trip();
	if (!outcome && s.passes != due)
		return fail_check("the turn came back after %llu passes, not %llu",
		                  (unsigned long long)s.passes, (unsigned long long)due);
	return outcome;
}

static void teardown(void)
{
	if (!s.started)
		return;
	pass(ENDED);
	pthread_join(s.partner, NULL);
}
#else
static int setup(void)
{
	return unsupported("futexes are Linux's");
}

static int run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

static void teardown(void)
{
}

int futex_pass_round_trip(void);
int futex_pass_round_trip(void)
{
	return 0;
}
#endif

const struct workload workload_futex_pass = {
	.name = "futex_pass",
	.group = "syscall",
	.summary = "the turn passed between two threads by a futex",
	.operation = "round trip",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.counted = (void (*)(void))futex_pass_round_trip,
};
