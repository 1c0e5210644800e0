/* write_null -- write one byte to the null device.
 *
 * Measures     what every write pays: the entry into the kernel, finding the open file by its
 *              descriptor, calling a driver, and the way back. Under Wine, WriteFile to the device
 *              NUL.
 * Leaves out   copying the byte: the driver takes the count and looks at nothing.
 * Beware       on POSIX every build makes the call by the same instructions (kernel_call.h). A
 *              /dev/null that is not a device (in a bare root) is refused.
 * After        lat_syscall write of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/handle.h"
#include "../api/workload.h"

static handle null = NO_HANDLE;

#ifdef _WIN32
static int setup(void)
{
	null = handle_open(L"NUL", HANDLE_READ_WRITE);
	if (null == NO_HANDLE)
		return unsupported("NUL cannot be opened");
	return GetFileType(null) == FILE_TYPE_CHAR ? 0 : unsupported("NUL is not a device");
}
#else
#include <sys/stat.h>

static int setup(void)
{
	struct stat status;

	null = open("/dev/null", O_WRONLY);
	if (null < 0)
		return unsupported("/dev/null cannot be opened");
	if (fstat(null, &status))
		return fail("fstat");
	if (!S_ISCHR(status.st_mode))
		return unsupported("/dev/null is not a device");
	return 0;
}
#endif

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(ssize_t put)
{
	return put < 0 ? fail("write") : fail_check("%zd bytes written, not 1", put);
}

static int run(uint64_t operations)
{
	char byte = 1;

	REPEAT(operations, {
		ssize_t put = handle_write(null, &byte, 1);

		if (put != 1)
			return wrong(put);
	});
	return 0;
}

static void teardown(void)
{
	if (null != NO_HANDLE)
		handle_close(null);
}

static const struct call calls[] = { { "write", 1 }, { 0 } };

const struct workload workload_write_null = {
	.name = "write_null",
	.group = "syscall",
	.summary = "a write of one byte to the null device",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
