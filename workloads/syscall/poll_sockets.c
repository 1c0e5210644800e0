/* poll_sockets -- ask by poll which of many connections have something to read.
 *
 * Measures     copying the list of descriptors in, finding and asking each connection, and copying
 *              the answers out. They are TCP connections over the loopback interface. On `ready` of
 *              them (none by default) a byte waits that is never read.
 * Leaves out   waiting: the timeout is zero, so the process joins no queue. Connecting (in setup).
 * Beware       poll takes eight bytes per descriptor, where select takes one bit in each set. For a
 *              long list the kernel allocates memory in each call.
 * After        lat_select tcp of lmbench (McVoy and Staelin), which has only select.
 */
#include "waiting.h"

static int setup(void)
{
	int outcome = connect_sockets();

	list_watched();
	return outcome;
}

static int ask(void)
{
	return answered(kernel_poll(list, (nfds_t)descriptors), "poll");
}

static const struct parameter parameters[] = { SOCKETS_PARAMETERS, { 0 } };

static const struct call calls[] = { { POLL_CALL, 1 }, { 0 } };

const struct workload workload_poll_sockets = {
	.name = "poll_sockets",
	.group = "syscall",
	.summary = "many TCP connections asked about by poll",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
