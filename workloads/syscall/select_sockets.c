/* select_sockets -- ask by select which of many connections have something to read.
 *
 * Measures     copying the set of descriptors in, finding and asking each connection, and copying
 *              the set of the ready ones out. They are TCP connections over the loopback interface.
 *              On `ready` of them (none by default) a byte waits that is never read.
 * Leaves out   waiting: the timeout is zero, so the process joins no queue. Connecting (in setup).
 * Beware       the call overwrites its argument with the answer, so the 128 bytes of the set are
 *              copied before each call, which is part of the time. A set holds descriptors below
 *              1024. The call is pselect without a signal mask, because C libraries make different
 *              system calls for select.
 * After        lat_select tcp of lmbench (McVoy and Staelin).
 */
#include "waiting.h"

static int setup(void)
{
	int outcome = connect_sockets();

	return outcome ? outcome : set_watched();
}

static int ask(void)
{
	fd_set found = set;

	return answered(kernel_select(beyond, &found), "pselect");
}

static const struct parameter parameters[] = { SOCKETS_PARAMETERS, { 0 } };

static const struct call calls[] = { { "pselect6", 1 }, { 0 } };

const struct workload workload_select_sockets = {
	.name = "select_sockets",
	.group = "syscall",
	.summary = "many TCP connections asked about by select",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
