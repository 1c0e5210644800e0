/* epoll_sockets -- ask by epoll which of many connections have something to read.
 *
 * Measures     entry into the kernel, the list of those connections that were seen to change, each
 *              of them asked, the answers copied out. They are TCP connections over the loopback
 *              interface, all registered; `ready` of them (one at first) hold a byte that nobody
 *              takes, and because they are watched for a level and not for an edge, every call
 *              finds them again.
 * Leaves out   registering the connections (in setup), which is what select and poll do anew at
 *              each call; and waiting: the time to wait is zero.
 * Beware       with ready=0 the call looks at one empty list, however many are registered. To set
 *              it beside poll_sockets and select_sockets, give those the same `ready`. epoll_pwait
 *              without a signal mask is called, because libraries make different system calls of
 *              epoll_wait.
 * After        lat_select tcp of lmbench (McVoy and Staelin), which knows select alone.
 */
#include "descriptors.h"

static uint64_t descriptors = 100, ready = 1;

#ifdef __linux__
#include <sys/epoll.h>

#include "../api/kernel_call.h"

static struct {
	struct descriptors d;
	struct epoll_event found[DESCRIPTORS_MOST];
	int                set;
} s = { .set = -1 };

static int setup(void)
{
	int outcome;

	s.set = epoll_create1(0);
	if (s.set < 0)
		return errno == ENOSYS ? unsupported("there is no epoll") : fail("epoll_create1");
	if ((outcome = descriptors_connect_sockets(&s.d, descriptors)))
		return outcome;
	for (uint64_t i = 0; i < s.d.watched_count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = i } };

		if (epoll_ctl(s.set, EPOLL_CTL_ADD, s.d.watched[i], &event))
			return fail("epoll_ctl");
	}
	return descriptors_make_ready(&s.d, ready);
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void)
{
	int count = (int)kernel_call(SYS_epoll_pwait, (long)s.set, s.found, (long)descriptors, 0L, NULL, 0L);

	if (count < 0)
		return fail("epoll_pwait");
	if ((uint64_t)count != ready)
		return fail_check("%d connections are ready, not %llu", count,
		                  (unsigned long long)ready);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome;

	REPEAT(operations, {
		outcome = ask();
		if (outcome)
			return outcome;
	});
	return 0;
}

static void teardown(void)
{
	if (s.set >= 0)
		close(s.set);
	descriptors_close(&s.d);
}

static const struct call calls[] = { { "epoll_pwait", 1 }, { 0 } };
#else
static int setup(void)
{
	return unsupported("epoll is Linux's");
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

static const struct parameter parameters[] = {
	NUMBER("descriptors", "connections registered", &descriptors, 1, DESCRIPTORS_MOST),
	NUMBER("ready", "of them, with something to read", &ready, 0, DESCRIPTORS_MOST),
	{ 0 },
};

const struct workload workload_epoll_sockets = {
	.name       = "epoll_sockets",
	.group      = "syscall",
	.summary    = "many TCP connections asked about by epoll",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
