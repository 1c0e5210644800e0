/* deeds VERB -- processes with known costs, for the backends that follow processes from outside. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void nap(long ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		continue;
}

static void compute(void)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 30000000);
}

/* 16 MiB touched, 20 naps, 30 ms of computing. */
static void work(void)
{
	char *memory = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	memset(memory, 1, 16 * MIB);
	for (int i = 0; i < 20; i++)
		nap(1000000);
	compute();
	_exit(3);
}

/* A child's work, and what wait4 says of it. */
static int told(void)
{
	struct rusage usage;
	int           status;
	pid_t         pid = fork();

	if (pid == 0)
		work();
	if (wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("%d %ld %ld %ld %ld\n", (int)pid,
	       1000000 * (long)usage.ru_utime.tv_sec + (long)usage.ru_utime.tv_usec,
	       1000000 * (long)usage.ru_stime.tv_sec + (long)usage.ru_stime.tv_usec,
	       usage.ru_minflt, usage.ru_nvcsw);
	return 0;
}

static void caught(int number)
{
	(void)number;
}

/* 5 signals caught, 3 ignored, 1 that does nothing by default. */
static int signals(void)
{
	signal(SIGUSR1, caught);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR2);
	raise(SIGWINCH);
	return 0;
}

static void *napping(void *unused)
{
	for (int i = 0; i < 10; i++)
		nap(1000000);
	return unused;
}

static int threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, napping, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int naps(void)
{
	for (int i = 0; i < 5; i++)
		nap(10000000);
	return 0;
}

/* Writes how often it has gone round, until it has done so 40 times. */
static int rounds(void)
{
	for (int i = 1; i <= 40; i++) {
		if (write(1, ".", 1) != 1)
			return 1;
		nap(20000000);
	}
	return 9;
}

/* The same without an end, as long as there is room for what nobody reads. */
static int endless(void)
{
	while (write(1, ".", 1) == 1)
		nap(5000000);
	return 1;
}

/* Children that come and go, as fast as they can, for some time. */
static int storm(void)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < began.tv_sec + 1);
	return 6;
}

static int many(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			nap(300000000);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}

int main(int count, char *words[])
{
	static const struct {
		const char *name;
		int (*perform)(void);
	} verbs[] = {
		{ "told", told },       { "signals", signals }, { "threads", threads },
		{ "naps", naps },       { "rounds", rounds },   { "storm", storm },
		{ "endless", endless },
	};

	for (size_t i = 0; count > 1 && i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(words[1], verbs[i].name))
			return verbs[i].perform();
	return count == 3 && !strcmp(words[1], "many") ? many(atoi(words[2])) : 2;
}
