/* storm -- the cheapest system call in a loop, as often as it is told to; with an argument, "fork",
 * births of processes that end at once, each waited for.
 *
 * Each line of standard input, "ROUNDS CALLS", is answered by one line: for each round, when it
 * began (ns of the monotonic clock) and how many ns it took, as "BEGAN:NS". Between lines it is
 * blocked in read.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 100000 };

static uint64_t began[ROUNDS_MOST], took[ROUNDS_MOST];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void call(long times)
{
	for (long i = times; i > 0; i--)
		syscall(SYS_getppid);
}

static void give_birth(long times)
{
	for (long i = times; i > 0; i--) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char *argv[])
{
	void (*deed)(long) = argc > 1 && !strcmp(argv[1], "fork") ? give_birth : call;
	long rounds, calls;

	while (scanf("%ld %ld", &rounds, &calls) == 2) {
		if (rounds < 1 || rounds > ROUNDS_MOST)
			return 2;
		for (long round = 0; round < rounds; round++) {
			began[round] = now();
			deed(calls);
			took[round] = now() - began[round];
		}
		for (long round = 0; round < rounds; round++)
			printf("%" PRIu64 ":%" PRIu64 "%c", began[round], took[round],
			       round + 1 < rounds ? ' ' : '\n');
		fflush(stdout);
	}
	return 0;
}
