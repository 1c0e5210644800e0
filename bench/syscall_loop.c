/* syscall_loop.c -- the loop that anybody would write: getppid by number, the clock before and
 * after.
 *
 *	syscall_loop OPERATIONS BATCHES		prints each batch's ns, one a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	long operations = argc > 1 ? atol(argv[1]) : 60000, batches = argc > 2 ? atol(argv[2]) : 20;

	for (long batch = 0; batch < batches; batch++) {
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		for (long i = 0; i < operations; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &after);
		printf("%lld\n", (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec -
		                         before.tv_nsec);
	}
	return 0;
}
