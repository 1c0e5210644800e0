/* storm ROUNDS AT_ONCE CALLS MORE STATUSES [WAIT_US] -- short-lived processes with known calls and statuses.
 *
 * After WAIT_US each round forks AT_ONCE children and waits for them. A child of round i makes getppid CALLS
 * times, and i % MORE times more, and exits with i % STATUSES. The storm's own status is 5.
 */
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
	long number[6] = { 0 };

	if (argc < 6)
		return 2;
	for (int i = 1; i < argc && i <= 6; i++)
		number[i - 1] = strtol(argv[i], NULL, 10);
	usleep((useconds_t)number[5]);
	for (long i = 0; i < number[0]; i++) {
		for (long j = 0; j < number[1]; j++)
			if (fork() == 0)
				live(number[2] + i % number[3], (int)(i % number[4]));
		while (wait(NULL) > 0)
			continue;
	}
	return 5;
}
