/* steelyard-held -- executes a command with Ctrl-C held back.
 *
 *     steelyard-held COMMAND [ARGUMENT ...]
 *
 * Python hears SIGINT a tenth of a second before it comes to the first line of a program, and
 * answers one in between with a traceback. Here the signal is blocked, which an exec leaves as it
 * is: it waits until the command lets it in. STEELYARD_HELD is the number of the process that shall
 * do so; where SIGINT was blocked before, that is the caller's wish, and nobody shall.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
	sigset_t interrupt, before;
	char     process[24];

	if (count < 2) {
		fputs("usage: steelyard-held COMMAND [ARGUMENT ...]\n", stderr);
		return 2;
	}
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	snprintf(process, sizeof process, "%ld", (long)getpid());
	if (!sigprocmask(SIG_BLOCK, &interrupt, &before) && !sigismember(&before, SIGINT))
		setenv("STEELYARD_HELD", process, 1);
	execv(words[1], words + 1);
	perror(words[1]);
	return 127;
}
