/* lives COUNT KIND ... -- lets that many children of each kind live, and prints what wait4 says of
 * each:
 *
 *	PID KIND STATUS USER_US SYSTEM_US MINOR MAJOR VOLUNTARY INVOLUNTARY PEAK_KIB INPUT_BLOCKS
 * OUTPUT_BLOCKS
 *
 *	brief	computes for 1 ms		long	computes for 50 ms
 *	memory	touches 16 MiB, 4 of them twice	sleeps	20 times 1 ms
 *	calls	1 ms of getppid			killed	computes for 1 ms, then SIGKILL
 *	none	ends at once			status	ends with status 3
 *
 * The children of a kind live one after the other, and are reaped when all of a hundred have ended
 * for good: a parent that reaps at once can come before the last of the run time has been added to
 * the child's, and would then be told less than the child used. With "early" in place of the first
 * kind that is what is done.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GROUP = 100, MEMORY = 16 << 20 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void compute(uint64_t ns)
{
	for (uint64_t end = now() + ns; now() < end;)
		;
}

static void rest(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static void touch_memory(void)
{
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		_exit(90);
	/* One fault a page, whatever the machine does for others. */
	madvise(memory, MEMORY, MADV_NOHUGEPAGE);
	for (int byte = 0; byte < MEMORY; byte += 4096)
		memory[byte] = 1;
	madvise(memory, MEMORY / 4, MADV_DONTNEED);
	for (int byte = 0; byte < MEMORY / 4; byte += 4096)
		memory[byte] = 1;
}

static void live(const char *kind)
{
	if (!strcmp(kind, "brief")) {
		compute(1000000);
	} else if (!strcmp(kind, "long")) {
		compute(50000000);
	} else if (!strcmp(kind, "memory")) {
		touch_memory();
	} else if (!strcmp(kind, "sleeps")) {
		for (int i = 0; i < 20; i++)
			rest(1000000);
	} else if (!strcmp(kind, "calls")) {
		for (uint64_t end = now() + 1000000; now() < end;)
			syscall(SYS_getppid);
	} else if (!strcmp(kind, "killed")) {
		compute(1000000);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(kind, "status")) {
		_exit(3);
	} else if (strcmp(kind, "none")) {
		_exit(91);
	}
	_exit(0);
}

static int reap(pid_t pid, const char *kind)
{
	struct rusage used;
	int           status;

	if (wait4(pid, &status, 0, &used) != pid)
		return -1;
	printf("%d %s %d %" PRIu64 " %" PRIu64 " %ld %ld %ld %ld %ld %ld %ld\n", (int)pid, kind,
	       status, (uint64_t)used.ru_utime.tv_sec * 1000000u + (uint64_t)used.ru_utime.tv_usec,
	       (uint64_t)used.ru_stime.tv_sec * 1000000u + (uint64_t)used.ru_stime.tv_usec,
	       used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw, used.ru_maxrss,
	       used.ru_inblock, used.ru_oublock);
	return 0;
}

static int a_group(long count, const char *kind, int early)
{
	pid_t made[GROUP];

	for (long i = 0; i < count; i++) {
		siginfo_t ended;

		made[i] = fork();
		if (made[i] == 0)
			live(kind);
		if (made[i] < 0)
			return -1;
		if (early ? reap(made[i], kind)
		          : waitid(P_PID, (id_t)made[i], &ended, WEXITED | WNOWAIT))
			return -1;
	}
	rest(20000000);
	for (long i = 0; !early && i < count; i++)
		if (reap(made[i], kind))
			return -1;
	return 0;
}

int main(int argc, char *argv[])
{
	int early = argc > 2 && !strcmp(argv[2], "early");

	/* A child must not print what its parent has not yet. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	for (int kind = 2 + early; kind < argc; kind++)
		for (long left = atol(argv[1]); left > 0; left -= GROUP)
			if (a_group(left < GROUP ? left : GROUP, argv[kind], early)) {
				perror(argv[kind]);
				return 1;
			}
	return 0;
}
