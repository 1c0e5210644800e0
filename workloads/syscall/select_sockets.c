/* select_sockets -- ask by select which of many connections have something to read.
 *
 * Measures     the set of descriptors copied in, each connection found and asked, the set of the
 *              ready ones copied out. They are TCP connections over the loopback interface; none
 *              has anything to read, or as many as `ready` says hold one byte that nobody takes.
 * Leaves out   waiting: the time to wait is zero, so the process joins no queue. Connecting is in
 *              setup.
 * Beware       the call writes its answer over the question, so the question's 128 bytes are
 *              copied before each, which is measured too. A set holds descriptors below 1024.
 *              pselect without a signal mask is called, because libraries make different system
 *              calls of select.
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
	.name       = "select_sockets",
	.group      = "syscall",
	.summary    = "many TCP connections asked about by select",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
