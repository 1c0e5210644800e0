/* keeper.c -- see keeper.h. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../api/descendants.h"

/* ---- The keeper's own process ---- */

static void wake(int number)
{
	(void)number;
}

/* What else the trial has open is not theirs, and would keep others waiting for its end. */
static void close_all_but(const int kept[], size_t count)
{
	for (int file = 3; file < 256; file++) {
		int is_kept = 0;

		for (size_t i = 0; i < count; i++)
			is_kept |= file == kept[i];
		if (!is_kept)
			close(file);
	}
}

static int drop_rights(const struct keeper_order *order)
{
	if (!order->is_other)
		return 0;
	return setgroups(0, NULL) || setgid(order->group) || setuid(order->user) ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

_Noreturn static void become_server(const struct keeper_order *order, const sigset_t *usual)
{
	char secret[128];
	int  nothing = open("/dev/null", O_RDWR);

	setsid(); /* some servers end by killing their group, which the keeper must outlive */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, usual, NULL);
	if (nothing < 0 || fchdir(order->directory) || dup2(nothing, 0) < 0 ||
	    dup2(order->words, 1) < 0 || dup2(order->words, 2) < 0)
		_exit(KEEPER_NOT_STARTED);
	close_all_but(NULL, 0);
	if (drop_rights(order)) {
		perror("the server's user cannot be taken");
		_exit(KEEPER_NOT_STARTED);
	}
	snprintf(secret, sizeof(secret), "STEELYARD_SECRET=%s", order->secret);
	execve(order->command[0], order->command,
	       (char *[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", secret, NULL });
	perror(order->command[0]);
	_exit(KEEPER_NOT_STARTED);
}

/* Sends the server what the trial asks for. Returns -1 at the trial's end. */
static int pass_on(int life, pid_t server)
{
	unsigned char number;

	if (read(life, &number, 1) != 1)
		return -1;
	if (server > 0 && !kill(server, number))
		kill(server, SIGCONT); /* who was stopped hears nothing */
	return 0;
}

/* Waits for the end of children and of the trial, and wakes for nothing else but a signal to pass
 * on. */
_Noreturn static void keep(pid_t server, int life, int tell, const sigset_t *usual)
{
	struct pollfd listened = { .fd = life, .events = POLLIN };

	for (;;) {
		int   status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != server)
				continue;
			server = 0;
			if (write(tell, &status, sizeof(status)) < 0)
				break;
		}
		if (ppoll(&listened, 1, NULL, usual) > 0 && pass_on(life, server)) {
			descendants_end();
			_exit(0);
		}
	}
}

static void keeper_main(const struct keeper_order *order, int life, int tell)
{
	sigset_t child, usual;
	pid_t    server;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, wake);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &usual);
	sigdelset(&usual, SIGCHLD);
	server = fork();
	if (server == 0)
		become_server(order, &usual);
	close(order->directory);
	close(order->words);
	if (server < 0 || write(tell, &server, sizeof(server)) != sizeof(server))
		_exit(1);
	keep(server, life, tell, &usual);
}

/* ---- The trial's side ---- */

int keeper_start(struct keeper *keeper, const struct keeper_order *order)
{
	int life[2], tell[2];

	*keeper = (struct keeper){ .life = -1, .heard = -1 };
	if (pipe2(life, O_CLOEXEC))
		return -1;
	if (pipe2(tell, O_CLOEXEC)) {
		close(life[0]);
		close(life[1]);
		return -1;
	}
	keeper->pid = fork();
	if (keeper->pid == 0) {
		close_all_but((int[]){ life[0], tell[1], order->directory, order->words }, 4);
		keeper_main(order, life[0], tell[1]);
	}
	close(life[0]);
	close(tell[1]);
	keeper->life = life[1];
	keeper->heard = tell[0];
	if (keeper->pid > 0 &&
	    read(tell[0], &keeper->server, sizeof(keeper->server)) == sizeof(keeper->server))
		return 0;
	keeper_end(keeper);
	return -1;
}

int keeper_has_ended(struct keeper *keeper, int patience_ms, int *status)
{
	struct pollfd listened = { .fd = keeper->heard, .events = POLLIN };

	*status = 0;
	if (keeper->heard < 0 || poll(&listened, 1, patience_ms) <= 0)
		return 0;
	if (read(keeper->heard, status, sizeof(*status)) != sizeof(*status))
		*status = SIGKILL; /* the keeper itself has ended */
	return 1;
}

int keeper_signal(struct keeper *keeper, int number)
{
	unsigned char told = (unsigned char)number;

	return keeper->life >= 0 && write(keeper->life, &told, 1) == 1 ? 0 : -1;
}

void keeper_end(struct keeper *keeper)
{
	int kept = errno;

	if (keeper->life >= 0)
		close(keeper->life);
	if (keeper->heard >= 0)
		close(keeper->heard);
	if (keeper->pid > 0)
		while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	*keeper = (struct keeper){ .life = -1, .heard = -1 };
	errno = kept;
}
