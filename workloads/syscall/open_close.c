/* open_close -- open a file and close it.
 *
 * Measures     the look-up of one name in the working directory (the trial's own), the permission
 *              to read, a descriptor and an open file made, and both released.
 * Leaves out   the walk through the directories above, making the file (in setup), its contents,
 *              and the disk.
 * Beware       openat and not open is called, because libraries make different system calls of
 *              open. The descriptor is the lowest free one each time, as the standard demands, and
 *              is checked. Some file systems do work of their own at open and close.
 * After        lat_syscall open of lmbench (McVoy and Staelin, 1996).
 */
#include <fcntl.h>
#include <unistd.h>

#include "../workload.h"

static const char name[] = "open_close";

static int lowest; /* the descriptor that every open must return */

static int setup(void)
{
	if (chdir(trial_directory()))
		return fail("chdir");
	lowest = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (lowest < 0)
		return fail("open");
	return close(lowest) ? fail("close") : 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		int file = openat(AT_FDCWD, name, O_RDONLY);

		if (file < 0)
			return fail("openat");
		if (close(file))
			return fail("close");
		if (file != lowest)
			return fail_check("descriptor %d was opened, not %d", file, lowest);
	}
	return 0;
}

static void teardown(void)
{
	unlink(name);
}

static const struct call calls[] = { { "openat", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_open_close = {
	.name      = "open_close",
	.group     = "syscall",
	.summary   = "a file opened and closed",
	.operation = "open and close",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
