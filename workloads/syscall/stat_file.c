/* stat_file -- ask for the status of a file by its name.
 *
 * Measures     entry into the kernel, the look-up of one name in the working directory, and the
 *              file's status copied out. The working directory is the trial's own. On Windows
 *              GetFileAttributesEx.
 * Leaves out   the walk through the directories above, which would make the depth of the trial's
 *              directory part of the figure; and the disk: name and status are in the cache.
 * Beware       libraries ask for this in different ways, so the call is made by its number where
 *              the kernel's answer has libc's layout, and by libc elsewhere. The file system
 *              answers too: which it is stands in the system's fingerprint.
 * After        lat_syscall stat of lmbench (McVoy and Staelin, 1996), which gives the whole path.
 */
#include "../api/handle.h"
#include "../api/workload.h"

#ifdef _WIN32
#define BY_NUMBER 0
#else
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where kernel and libc are known to agree on struct stat. */
#if defined(SYS_newfstatat) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define BY_NUMBER 1
#else
#define BY_NUMBER 0
#endif
#endif

enum { BYTES = 5 };

static const name_letter name[] = NAME("stat_file");

static int setup(void)
{
	int    outcome = handle_begin();
	handle file;

	if (outcome)
		return outcome;
	file = handle_open(name, HANDLE_EMPTY);
	if (file == NO_HANDLE)
		return fail("opening the file");
	if (handle_write_whole(file, "bytes", BYTES)) {
		handle_close(file);
		return fail("write");
	}
	return handle_close(file) ? fail("close") : 0;
}

#ifdef _WIN32
typedef WIN32_FILE_ATTRIBUTE_DATA file_status;
#define SIZE_OF(status) ((status)->nFileSizeLow)

static inline int ask(file_status *status)
{
	return GetFileAttributesExW(name, GetFileExInfoStandard, status) ? 0 : windows_failed();
}
#else
typedef struct stat file_status;
#define SIZE_OF(status) ((status)->st_size)

static inline int ask(file_status *status)
{
#if BY_NUMBER
	return (int)kernel_call(SYS_newfstatat, (long)AT_FDCWD, name, status, 0L);
#else
	return stat(name, status);
#endif
}
#endif

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(int answer, const file_status *status)
{
	if (answer)
		return fail("asking for the status");
	return fail_check("a file of %lld bytes, not %d", (long long)SIZE_OF(status), BYTES);
}

static int run(uint64_t operations)
{
	file_status status;

	REPEAT(operations, {
		int answer;

		SIZE_OF(&status) = 0;
		answer = ask(&status);
		if (answer || SIZE_OF(&status) != BYTES)
			return wrong(answer, &status);
	});
	return 0;
}

static void teardown(void)
{
	handle_remove(name);
}

#if BY_NUMBER
static const struct call calls[] = { { "newfstatat", 1 }, { 0 } };
#else
static const struct call calls[] = { { 0 } };
#endif

const struct workload workload_stat_file = {
	.name      = "stat_file",
	.group     = "syscall",
	.summary   = "the status of a file by its name",
	.operation = "call",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
