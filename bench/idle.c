/* idle COUNT -- that many children that do nothing; prints "ready" when all are there, ends them
 * when its standard input ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	char byte;

	if (argc != 2)
		return 2;
	for (long i = atol(argv[1]); i > 0; i--) {
		pid_t made = fork();

		if (made == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (made < 0) {
			perror("fork");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
