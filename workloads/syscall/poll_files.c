/* poll_files -- ask by poll which of many open files can be read.
 *
 * Measures     copying the list of descriptors in, finding and asking each file, and copying the
 *              answers out. Files are always ready, so the answer names every one.
 * Leaves out   waiting: the timeout is zero. Opening the files (in setup).
 * Beware       poll takes eight bytes per descriptor, where select takes one bit in each set. For a
 *              long list the kernel allocates memory in each call.
 * After        lat_select file of lmbench (McVoy and Staelin), which has only select.
 */
#include "waiting.h"

static int setup(void)
{
	int outcome = open_files();

	list_watched();
	return outcome;
}

static int ask(void)
{
	return answered(kernel_poll(list, (nfds_t)descriptors), "poll");
}

static const struct parameter parameters[] = { FILES_PARAMETERS, { 0 } };

static const struct call calls[] = { { POLL_CALL, 1 }, { 0 } };

const struct workload workload_poll_files = {
	.name = "poll_files",
	.group = "syscall",
	.summary = "many open files asked about by poll",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.calls = calls,
};
