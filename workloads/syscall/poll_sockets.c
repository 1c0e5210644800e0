/* poll_sockets -- ask by poll which of many connections have something to read.
 *
 * Measures     the list of descriptors copied in, each connection found and asked, the answers
 *              copied out. They are TCP connections over the loopback interface; none has anything
 *              to read, or as many as `ready` says hold one byte that nobody takes.
 * Leaves out   waiting: the time to wait is zero, so the process joins no queue. Connecting is in
 *              setup.
 * Beware       the list is eight bytes a descriptor, where select's sets are one bit each; a long
 *              list is copied into memory that the kernel takes for the call.
 * After        lat_select tcp of lmbench (McVoy and Staelin), which knows select alone.
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
	.name       = "poll_sockets",
	.group      = "syscall",
	.summary    = "many TCP connections asked about by poll",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
