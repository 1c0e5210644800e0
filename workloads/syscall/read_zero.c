/* read_zero -- read one byte from /dev/zero.
 *
 * Measures     what every read pays: the entry into the kernel, finding the open file by its
 *              descriptor, calling a driver, and copying one byte out.
 * Leaves out   files, their cache and their locks: the driver of /dev/zero does almost nothing.
 * Beware       every build makes the call by the same instructions (kernel_call.h), because the
 *              read functions of C libraries differ by more than the differences to be measured. A
 *              /dev/zero that is not a device (in a bare root) is refused.
 * After        lat_syscall read of lmbench (McVoy and Staelin, 1996).
 */
#include <sys/stat.h>

#include "../api/kernel_call.h"
#include "../api/workload.h"

static int zero = -1;

static int setup(void)
{
	struct stat status;

	zero = open("/dev/zero", O_RDONLY);
	if (zero < 0)
		return unsupported("/dev/zero cannot be opened");
	if (fstat(zero, &status))
		return fail("fstat");
	if (!S_ISCHR(status.st_mode))
		return unsupported("/dev/zero is not a device");
	return 0;
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(ssize_t got, char byte)
{
	if (got < 0)
		return fail("read");
	return fail_check("%zd bytes read, the first of them %d", got, byte);
}

static int run(uint64_t operations)
{
	REPEAT(operations, {
		char    byte = 1;
		ssize_t got = kernel_read(zero, &byte, 1);

		if (got != 1 || byte != 0)
			return wrong(got, byte);
	});
	return 0;
}

static void teardown(void)
{
	if (zero >= 0)
		close(zero);
}

static const struct call calls[] = { { "read", 1 }, { 0 } };

const struct workload workload_read_zero = {
	.name = "read_zero",
	.group = "syscall",
	.summary = "a read of one byte from /dev/zero",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
