/* stat_file -- ask for the status of a file by its name.
 *
 * Measures     the entry into the kernel, the look-up of one name in the working directory (the
 *              trial's own), and copying the file's status out. Under Wine, GetFileAttributesEx.
 * Leaves out   the walk through the parent directories, which would make their number part of the
 *              time. The disk: name and status are in the cache.
 * Beware       C libraries make different system calls for stat, so the call is made by its number
 *              where the kernel fills in the C library's struct stat, and through the C library
 *              elsewhere. The file system answers too; the system's fingerprint names it.
 * After        lat_syscall stat of lmbench (McVoy and Staelin, 1996), which gives the whole path.
 */
#define WINDOWS_STATUS WIN32_FILE_ATTRIBUTE_DATA
#include "status.h"

static const name_letter name[] = NAME("stat_file");

static int setup(void)
{
	handle file = NO_HANDLE;
	int    outcome = make_file(name, &file);

	if (file != NO_HANDLE && handle_close(file) && !outcome)
		outcome = fail("close");
	return outcome;
}

#ifdef _WIN32
static inline int ask(file_status *status)
{
	return GetFileAttributesExW(name, GetFileExInfoStandard, status) ? 0 : windows_failed();
}
#elif defined(STATUS_AGREES) && defined(SYS_newfstatat)
static inline int ask(file_status *status)
{
	return (int)kernel_call(SYS_newfstatat, (long)AT_FDCWD, name, status, 0L);
}
#else
static inline int ask(file_status *status)
{
	return stat(name, status);
}
#endif

static void teardown(void)
{
	handle_remove(name);
}

static const struct call calls[] = {
#if defined(STATUS_AGREES) && defined(SYS_newfstatat)
	{ "newfstatat", 1 },
#endif
	{ 0 },
};

const struct workload workload_stat_file = {
	.name = "stat_file",
	.group = "syscall",
	.summary = "the status of a file by its name",
	.operation = "call",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
