/* select_files -- ask by select which of many open files can be read.
 *
 * Measures     copying the set of descriptors in, finding and asking each file, and copying the set
 *              of the ready ones out. Files are always ready, so the answer names every one.
 * Leaves out   waiting: the timeout is zero. Opening the files (in setup).
 * Beware       the call overwrites its argument with the answer, so the 128 bytes of the set are
 *              copied before each call, which is part of the time. A set holds descriptors below
 *              1024. The call is pselect without a signal mask, because C libraries make different
 *              system calls for select.
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
	.name = "select_files",
	.group = "syscall",
	.summary = "many open files asked about by select",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
