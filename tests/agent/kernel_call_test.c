/* kernel_call_test.c -- the way into the kernel: every argument arrives, and what fails says
 * why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/api/kernel_call.h"

#define EXPECT(claim)                                                       \
	do {                                                                \
		if (!(claim)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #claim); \
			failures++;                                         \
		}                                                           \
	} while (0)

int main(void)
{
	int   failures = 0, ends[2];
	char  byte = 0;
	char *mapped;
	FILE *file = tmpfile();

	/* Six arguments: the last one is the second page. */
	EXPECT(file && ftruncate(fileno(file), 65536 + 4096) == 0);
	EXPECT(pwrite(fileno(file), "page", 4, 65536) == 4);
	mapped = kernel_mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 65536);
	EXPECT(mapped != MAP_FAILED && memcmp(mapped, "page", 4) == 0);
	EXPECT(kernel_munmap(mapped, 4096) == 0);
	EXPECT(kernel_lseek(fileno(file), 65536, SEEK_SET) == 65536);

	EXPECT(pipe(ends) == 0);
	EXPECT(kernel_write(ends[1], "x", 1) == 1);
	EXPECT(kernel_read(ends[0], &byte, 1) == 1 && byte == 'x');

	errno = 0;
	EXPECT(kernel_call(SYS_getppid) == getppid() && errno == 0);
	EXPECT(kernel_read(-1, &byte, 1) == -1 && errno == EBADF);
	EXPECT(kernel_openat(AT_FDCWD, "/is/not/there", O_RDONLY, 0) == -1 && errno == ENOENT);
	EXPECT(kernel_mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	       errno == EINVAL);
	EXPECT(kernel_kill(getpid(), 999) == -1 && errno == EINVAL);
	return failures != 0;
}
