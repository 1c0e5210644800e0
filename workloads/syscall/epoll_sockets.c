/* epoll_sockets -- ask by epoll which of many connections have something to read.
 *
 * Measures     the entry into the kernel, the list of connections that have changed, asking each of
 *              them, and copying the answers out. They are TCP connections over the loopback
 *              interface, all registered. On `ready` of them (one by default) a byte waits that is
 *              never read; because epoll watches them level-triggered, every call finds them again.
 * Leaves out   registering the connections (in setup), which select and poll repeat at each call.
 *              Waiting: the timeout is zero.
 * Beware       with ready=0 the kernel looks at one empty list, however many connections are
 *              registered. To compare with poll_sockets and select_sockets, give those the same
 *              `ready`. The call is epoll_pwait without a signal mask, because C libraries make
 *              different system calls for epoll_wait.
 * After        lat_select tcp of lmbench (McVoy and Staelin), which has only select.
 */
#include "waiting.h"

static uint64_t ready = 1;

#ifdef __linux__
#include <sys/epoll.h>

static struct epoll_event found[DESCRIPTORS_MOST];
static int                registered = -1;

static int setup(void)
{
	int outcome;

	registered = epoll_create1(0);
	if (registered < 0)
		return errno == ENOSYS ? unsupported("there is no epoll") : fail("epoll_create1");
	if ((outcome = descriptors_connect_sockets(&opened, descriptors)))
		return outcome;
	for (uint64_t i = 0; i < opened.watched_count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = i } };

		if (epoll_ctl(registered, EPOLL_CTL_ADD, opened.watched[i], &event))
			return fail("epoll_ctl");
	}
	return descriptors_make_ready(&opened, ready);
}

static int ask(void)
{
	long count = kernel_call(SYS_epoll_pwait, (long)registered, found, (long)descriptors, 0L,
	                         NULL, 0L);

	return answered((int)count, "epoll_pwait");
}

static const struct call calls[] = { { "epoll_pwait", 1 }, { 0 } };
#else
static int setup(void)
{
	return unsupported("epoll is Linux's");
}

static int ask(void)
{
	return OUTCOME_FAILED;
}

static const struct call calls[] = { { 0 } };
#endif

static const struct parameter parameters[] = { SOCKETS_PARAMETERS, { 0 } };

const struct workload workload_epoll_sockets = {
	.name = "epoll_sockets",
	.group = "syscall",
	.summary = "many TCP connections asked about by epoll",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
