/* fstat_file -- ask for the status of an open file.
 *
 * Measures     the entry into the kernel, finding the open file by its descriptor, and copying its
 *              status out. Under Wine, GetFileInformationByHandle, which also asks for the volume's
 *              number.
 * Leaves out   the look-up of a name, which stat_file adds, and the disk.
 * Beware       some C libraries ask for the status of an empty name instead, which costs the kernel
 *              more. So the call is made by its number where the kernel fills in the C library's
 *              struct stat, and through the C library elsewhere.
 * After        lat_syscall fstat of lmbench (McVoy and Staelin, 1996).
 */
#define WINDOWS_STATUS BY_HANDLE_FILE_INFORMATION
#include "status.h"

static const name_letter name[] = NAME("fstat_file");

static handle file = NO_HANDLE;

static int setup(void)
{
	return make_file(name, &file);
}

#ifdef _WIN32
static inline int ask(file_status *status)
{
	return GetFileInformationByHandle(file, status) ? 0 : windows_failed();
}
#elif defined(STATUS_AGREES) && defined(SYS_fstat)
static inline int ask(file_status *status)
{
	return (int)kernel_call(SYS_fstat, (long)file, status);
}
#else
static inline int ask(file_status *status)
{
	return fstat(file, status);
}
#endif

static void teardown(void)
{
	if (file != NO_HANDLE) {
		handle_close(file);
		handle_remove(name);
	}
}

static const struct call calls[] = {
#if defined(STATUS_AGREES) && defined(SYS_fstat)
	{ "fstat", 1 },
#endif
	{ 0 },
};

const struct workload workload_fstat_file = {
	.name = "fstat_file",
	.group = "syscall",
	.summary = "the status of an open file",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
