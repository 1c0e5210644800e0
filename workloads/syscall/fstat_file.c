/* fstat_file -- ask for the status of an open file.
 *
 * Measures     entry into the kernel, finding the open file behind its descriptor, and the file's
 *              status copied out. On Windows GetFileInformationByHandle, which asks for the
 *              volume's number besides.
 * Leaves out   the look-up of a name, which is what stat_file adds, and the disk.
 * Beware       some versions of libc make of this the status of an empty name, which costs the
 *              kernel more; so the call is made by its number where the kernel's answer has libc's
 *              layout, and by libc elsewhere.
 * After        lat_syscall fstat of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/handle.h"
#include "../api/workload.h"

#ifdef _WIN32
#define BY_NUMBER 0
#else
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where kernel and libc are known to agree on struct stat. */
#if defined(SYS_fstat) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define BY_NUMBER 1
#else
#define BY_NUMBER 0
#endif
#endif

enum { BYTES = 5 };

static const name_letter name[] = NAME("fstat_file");

static handle file = NO_HANDLE;

static int setup(void)
{
	int outcome = handle_begin();

	if (outcome)
		return outcome;
	file = handle_open(name, HANDLE_EMPTY);
	if (file == NO_HANDLE)
		return fail("opening the file");
	return handle_write_whole(file, "bytes", BYTES) ? fail("write") : 0;
}

#ifdef _WIN32
typedef BY_HANDLE_FILE_INFORMATION file_status;
#define SIZE_OF(status) ((status)->nFileSizeLow)

static inline int ask(file_status *status)
{
	return GetFileInformationByHandle(file, status) ? 0 : windows_failed();
}
#else
typedef struct stat file_status;
#define SIZE_OF(status) ((status)->st_size)

static inline int ask(file_status *status)
{
#if BY_NUMBER
	return (int)kernel_call(SYS_fstat, (long)file, status);
#else
	return fstat(file, status);
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
	if (file != NO_HANDLE) {
		handle_close(file);
		handle_remove(name);
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
