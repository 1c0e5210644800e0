/* stat_file -- ask for the status of a file by its name.
 *
 * Measures     entry into the kernel, the look-up of one name in the working directory, and the
 *              file's status copied out. The working directory is the trial's own.
 * Leaves out   the walk through the directories above, which would make the depth of the trial's
 *              directory part of the figure; and the disk: name and status are in the cache.
 * Beware       libraries ask for this in different ways, so the call is made by its number where
 *              the kernel's answer has libc's layout, and by libc elsewhere. The file system
 *              answers too: which it is stands in the system's fingerprint.
 * After        lat_syscall stat of lmbench (McVoy and Staelin, 1996), which gives the whole path.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../workload.h"

/* Where kernel and libc are known to agree on struct stat. */
#if defined(SYS_newfstatat) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define BY_NUMBER 1
#else
#define BY_NUMBER 0
#endif

enum { BYTES = 5 };

static const char name[] = "stat_file";

static int setup(void)
{
	int file;

	if (chdir(trial_directory()))
		return fail("chdir");
	file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		return fail("open");
	if (write_whole(file, "bytes", BYTES)) {
		close(file);
		return fail("write");
	}
	return close(file) ? fail("close") : 0;
}

static inline int ask(struct stat *status)
{
#if BY_NUMBER
	return (int)syscall(SYS_newfstatat, AT_FDCWD, name, status, 0);
#else
	return stat(name, status);
#endif
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(int answer, const struct stat *status)
{
	if (answer)
		return fail("stat");
	return fail_check("a file of %lld bytes, not %d", (long long)status->st_size, BYTES);
}

static int run(uint64_t operations)
{
	struct stat status;

	REPEAT(operations, {
		int answer;

		status.st_size = 0;
		answer = ask(&status);
		if (answer || status.st_size != BYTES)
			return wrong(answer, &status);
	});
	return 0;
}

static void teardown(void)
{
	unlink(name);
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
