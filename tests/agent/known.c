/* known.c -- its children and threads make known numbers of calls, fail, exec, and die of signals;
 * for each child it prints what wait4 says: pid, status, us of run time, minor faults, voluntary
 * switches. With a first word it waits for the end of its standard input before, with a second
 * one it makes the same calls each time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int is_still;

static void *thread(void *count)
{
	for (long i = 0; i < (long)count; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void threads(void)
{
	pthread_t made[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&made[i], NULL, thread, (void *)(1000 * (i + 1)));
	for (int i = 0; i < 4; i++)
		pthread_join(made[i], NULL);
}

static void spin(long ns)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000000000L + now.tv_nsec < ns);
}

static void child(int number)
{
	switch (number) {
	case 0:
		for (int i = 0; i < 101; i++)
			syscall(SYS_getppid);
		_exit(3);
	case 1:
		for (int i = 0; i < 13; i++)
			close(-1);
		_exit(0);
	case 2:
		for (int i = 0; i < 11; i++)
			open("/nonexistent", O_RDONLY);
		raise(SIGKILL);
		_exit(0);
	case 3:
		threads();
		_exit(0);
	case 4:
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	case 5:
		if (!vfork())
			_exit(0);
		for (int i = 0; i < 77; i++)
			lseek(0, 0, SEEK_CUR);
		_exit(0);
	case 6:
		if (!is_still)
			spin(40000000);
		_exit(0);
	default:
		for (int i = 0; i < 20; i++)
			usleep(100);
		_exit(0);
	}
}

int main(int count, char **words)
{
	char nothing;

	(void)words;
	is_still = count > 2;
	while (count > 1 && read(0, &nothing, 1) > 0)
		;
	for (int number = 0; number < 8; number++) {
		pid_t         pid = fork();
		struct rusage usage;
		int           status;

		if (!pid)
			child(number);
		wait4(pid, &status, 0, &usage);
		printf("%d %d %ld %ld %ld\n", pid, status,
		       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		               usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
		       usage.ru_minflt, usage.ru_nvcsw);
		fflush(stdout);
	}
	for (int i = 0; i < 7; i++)
		syscall(SYS_getppid);
	return 5;
}
