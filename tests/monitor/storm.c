/* storm ROUNDS AT_ONCE CALLS MORE STATUSES [stop] -- short-lived processes with known calls and
 * statuses.
 *
 * Each round forks AT_ONCE children and waits for them. A child of round i makes getppid CALLS
 * times, and i % MORE times more, and exits with i % STATUSES. The storm's own status is 5. With
 * "stop" it waits for SIGCONT first.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void live(long calls, int status)
{
	while (calls--)
		syscall(SYS_getppid);
	_exit(status);
}

int main(int argc, char *argv[])
{
	long number[5];

	if (argc < 6)
		return 2;
	for (int i = 1; i <= 5; i++)
		number[i - 1] = strtol(argv[i], NULL, 10);
	if (argc > 6)
		raise(SIGSTOP);
	for (long i = 0; i < number[0]; i++) {
		for (long j = 0; j < number[1]; j++)
			if (fork() == 0)
				live(number[2] + i % number[3], (int)(i % number[4]));
		while (wait(NULL) > 0)
			continue;
	}
	return 5;
}
