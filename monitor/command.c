/* command.c -- see command.h. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "outside.h"

static struct {
	int gate[2];    /* the child reads; a byte means go, the end means that we are gone */
	int failure[2]; /* it writes errno there if the exec fails */
} s = { { -1, -1 }, { -1, -1 } };

static void child(char *const command[])
{
	char go;
	int  failure;

	close(s.gate[1]);
	close(s.failure[0]);
	if (read(s.gate[0], &go, 1) != 1)
		_exit(125);
	outside_restore_for_child();
	execvp(command[0], command);
	failure = errno;
	go = (char)failure;
	if (write(s.failure[1], &go, 1) != 1)
		_exit(125);
	_exit(failure == ENOENT ? 127 : 126);
}

pid_t command_hold(char *const command[])
{
	pid_t pid;

	if (pipe2(s.gate, O_CLOEXEC) || pipe2(s.failure, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		child(command);
	close(s.gate[0]);
	close(s.failure[1]);
	return pid;
}

void command_release(void)
{
	char go = 1;

	/* It may have been killed meanwhile: then its end says so. */
	if (write(s.gate[1], &go, 1) != 1)
		errno = 0;
	close(s.gate[1]);
}

int command_failure(void)
{
	unsigned char failure;

	return read(s.failure[0], &failure, 1) == 1 ? failure : 0;
}
