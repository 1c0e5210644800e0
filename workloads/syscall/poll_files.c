/* poll_files -- ask by poll which of many open files can be read.
 *
 * Measures     the list of descriptors copied in, each of them found and asked, the answers copied
 *              out. They are files, which are always ready: the answer names every one of them.
 * Leaves out   waiting: the time to wait is zero. Opening the files is in setup.
 * Beware       the list is eight bytes a descriptor, where select's sets are one bit each; a long
 *              list is copied into memory that the kernel takes for the call.
 * After        lat_select file of lmbench (McVoy and Staelin), which knows select alone.
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
	.name       = "poll_files",
	.group      = "syscall",
	.summary    = "many files asked about by poll",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
