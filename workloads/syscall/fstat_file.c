/* fstat_file -- ask for the status of an open file.
 *
 * Measures     entry into the kernel, finding the open file behind its descriptor, and the file's
 *              status copied out.
 * Leaves out   the look-up of a name, which is what stat_file adds, and the disk.
 * Beware       some versions of libc make of this the status of an empty name, which costs the
 *              kernel more; so the call is made by its number where the kernel's answer has libc's
 *              layout, and by libc elsewhere.
 * After        lat_syscall fstat of lmbench (McVoy and Staelin, 1996).
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../workload.h"

/* Where kernel and libc are known to agree on struct stat. */
#if defined(SYS_fstat) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define BY_NUMBER 1
#else
#define BY_NUMBER 0
#endif

enum { BYTES = 5 };

static const char name[] = "fstat_file";

static int file = -1;

static int setup(void)
{
	if (chdir(trial_directory()))
		return fail("chdir");
	file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		return fail("open");
	return write_whole(file, "bytes", BYTES) ? fail("write") : 0;
}

static inline int ask(struct stat *status)
{
#if BY_NUMBER
	return (int)syscall(SYS_fstat, file, status);
#else
	return fstat(file, status);
#endif
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int wrong(int answer, const struct stat *status)
{
	if (answer)
		return fail("fstat");
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
	if (file >= 0) {
		close(file);
		unlink(name);
	}
}

#if BY_NUMBER
static const struct call calls[] = { { "fstat", 1 }, { 0 } };
#else
static const struct call calls[] = { { 0 } };
#endif

const struct workload workload_fstat_file = {
	.name      = "fstat_file",
	.group     = "syscall",
	.summary   = "the status of an open file",
	.operation = "call",
	.setup     = setup,
	.run       = run,
	.teardown  = teardown,
	.calls     = calls,
};
