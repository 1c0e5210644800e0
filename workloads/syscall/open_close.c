/* open_close -- open a file and close it.
 *
 * Measures     the look-up of one name in the working directory (the trial's own), the check of
 *              permission, and making and releasing a descriptor and an open file. Under Wine,
 *              CreateFile and CloseHandle.
 * Leaves out   the walk through the parent directories, creating the file (in setup), its contents,
 *              and the disk.
 * Beware       the call is openat, because C libraries make different system calls for open. On
 *              POSIX the descriptor must be the lowest free one, which is checked. Some file
 *              systems do work of their own at open and close.
 * After        lat_syscall open of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/handle.h"
#include "../api/workload.h"

static const name_letter name[] = NAME("open_close");

static handle first; /* on POSIX the descriptor that every open must return */

static int setup(void)
{
	int outcome = handle_begin();

	if (outcome)
		return outcome;
	first = handle_open(name, HANDLE_EMPTY);
	if (first == NO_HANDLE)
		return fail("opening the file");
	return handle_close(first) ? fail("close") : 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		handle file = handle_open(name, HANDLE_READ);

		if (file == NO_HANDLE)
			return fail("opening the file");
		if (handle_close(file))
			return fail("close");
#ifndef _WIN32
		if (file != first)
			return fail_check("descriptor %d was opened, not %d", file, first);
#endif
	}
	return 0;
}

static void teardown(void)
{
	handle_remove(name);
}

static const struct call calls[] = { { "openat", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_open_close = {
	.name = "open_close",
	.group = "syscall",
	.summary = "a file opened and closed",
	.operation = "open and close",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
