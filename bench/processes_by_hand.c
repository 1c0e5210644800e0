/* processes_by_hand PROCESSES ITERATIONS PROGRAM -- starts so many processes one after the other, waits for
 * them all, and prints the ns from before the first to after the last: nothing is kept of any of them.
 *
 * Written as anybody would: fork, exec, wait. PROGRAM is this one again, as `member ITERATIONS`, which calls
 * the same function, compiled by this program's compiler, as often; it reads no clock.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/cpu/linp.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char *argv[])
{
	uint64_t began;
	long     processes;

	if (argc == 3 && !strcmp(argv[1], "member")) {
		for (long i = atol(argv[2]); i > 0; i--)
			if (!linp_is_right(linp()))
				return 1;
		return 0;
	}
	if (argc != 3)
		return 2;
	processes = atol(argv[1]);
	began = now();
	for (long i = 0; i < processes; i++) {
		pid_t made = vfork();

		if (made == 0) {
			execl("/proc/self/exe", argv[0], "member", argv[2], (char *)NULL);
			_exit(127);
		}
		if (made < 0) {
			perror("vfork");
			return 1;
		}
	}
	for (long i = 0; i < processes; i++) {
		int status;

		if (wait(&status) < 0 || status)
			return 1;
	}
	printf("%" PRIu64 "\n", now() - began);
	return 0;
}
