/* status.h -- what stat_file and fstat_file share: the status of a file of five bytes, asked for again and again.
 *
 * A workload says before it includes this what Windows answers by (WINDOWS_STATUS), and after it what a
 * call is. The call is made by its number where kernel and libc are known to agree on struct stat
 * (STATUS_AGREES), because libraries make different system calls of stat and fstat.
 */
#ifndef STEELYARD_STATUS_H
#define STEELYARD_STATUS_H

#include "../api/handle.h"
#include "../api/workload.h"

#ifdef _WIN32
typedef WINDOWS_STATUS file_status;
#define SIZE_OF(status) ((status)->nFileSizeLow)
#else
#include <sys/stat.h>
#include <sys/syscall.h>

typedef struct stat file_status;
#define SIZE_OF(status) ((status)->st_size)
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define STATUS_AGREES 1
#endif
#endif

enum { BYTES = 5 };

/* Makes the file in the trial's directory, and leaves it open. */
static inline int make_file(const name_letter *name, handle *file)
{
	int outcome = handle_begin();

	if (outcome)
		return outcome;
	*file = handle_open(name, HANDLE_EMPTY);
	if (*file == NO_HANDLE)
		return fail("opening the file");
	return handle_write_whole(*file, "bytes", BYTES) ? fail("write") : 0;
}

/* The workload's: one call. Returns 0, or not. */
static inline int ask(file_status *status);

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

#endif
