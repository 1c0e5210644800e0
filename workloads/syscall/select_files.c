/* select_files -- ask by select which of many open files can be read.
 *
 * Measures     the set of descriptors copied in, each of them found and asked, the set of the
 *              ready ones copied out. They are files, which are always ready: the answer names
 *              every one of them.
 * Leaves out   waiting: the time to wait is zero. Opening the files is in setup.
 * Beware       the call writes its answer over the question, so the question's 128 bytes are
 *              copied before each, which is measured too. A set holds descriptors below 1024.
 *              pselect without a signal mask is called, because libraries make different system
 *              calls of select.
 * After        lat_select file of lmbench (McVoy and Staelin).
 */
#include "waiting.h"

static int setup(void)
{
	int outcome = open_files();

	return outcome ? outcome : set_watched();
}

static int ask(void)
{
	fd_set found = set;

	return answered(kernel_select(beyond, &found), "pselect");
}

static const struct parameter parameters[] = { FILES_PARAMETERS, { 0 } };

static const struct call calls[] = { { "pselect6", 1 }, { 0 } };

const struct workload workload_select_files = {
	.name       = "select_files",
	.group      = "syscall",
	.summary    = "many files asked about by select",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
