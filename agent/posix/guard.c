/* guard.c -- see guard.h. Linux only: systems are started from Linux.
 *
 * A kill -9 of the laboratory leaves no one to clean up, and a stopped (parked) process does not
 * even notice that its input has ended. The guard does: it sleeps on a pipe that is never written.
 * As a subreaper (prctl(2)) it inherits every orphan of the tree, so none can hide by a double
 * fork; its private mount namespace takes with it what the command mounted; and what the laboratory
 * changed on this machine for the system's sake stands in a ledger, which the guard puts back.
 */
#include "../guard.h"
#include "../ledger.h"
#include "../system.h"

#include <stdio.h>

#ifdef __linux__
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../workloads/api/descendants.h"
#include "../../base/numbers.h"
#include "../tree.h"

/* Reaps whatever has ended. Returns 1 and its status if the command was among it. */
static int command_ended(pid_t command, int *status)
{
	int   one, ended = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0)
		if (pid == command) {
			*status = one;
			ended = 1;
		}
	return ended;
}

static void hide_mounts(void)
{
	if (unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* The command gets the three streams and nothing else: what the guard holds open says that it
 * lives. */
static void close_above_streams(void)
{
	DIR           *files;
	struct dirent *entry;
	uint64_t       file;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
		return;
#endif
	files = opendir("/proc/self/fd");
	while (files && (entry = readdir(files)))
		if (!parse_number(entry->d_name, &file) && file > 2 && (int)file != dirfd(files))
			close((int)file);
	if (files)
		closedir(files);
}

static void become(char *words[], int ledger, const sigset_t *signals)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, signals, NULL);
	if (ledger >= 0 && ledger_enter(ledger))
		_exit(77);
	close_above_streams();
	execvp(words[0], words);
	fprintf(stderr, "steelyard-load: %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

/* The ledger's descriptor, as the environment names it; -1 if nothing is changed for this
 * system. */
static int inherited_ledger(void)
{
	const char *text = getenv("STEELYARD_LEDGER");
	uint64_t    number;
	int         file = text && !parse_number(text, &number) ? (int)number : -1;

	unsetenv("STEELYARD_LEDGER");
	return file;
}

int guard(int argc, char *argv[])
{
	sigset_t signals, before;
	uint64_t lifeline;
	int      signal_file, status = 0, null_file, ledger = inherited_ledger();
	pid_t    command;

	if (argc < 3 || parse_number(argv[0], &lifeline)) {
		fprintf(stderr, "steelyard-load: guard LIFELINE SCRATCH COMMAND ...\n");
		return 2;
	}
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	hide_mounts();
	directory_spread(argv[1]);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, &before);
	/* Without it the command's end would never be seen. */
	signal_file = signalfd(-1, &signals, SFD_CLOEXEC);
	command = signal_file < 0 ? -1 : fork();
	if (command == 0)
		become(argv + 2, ledger, &before);
	if (command < 0) {
		fprintf(stderr, "steelyard-load: %s cannot be started: %s: %s\n", argv[2],
		        signal_file < 0 ? "signalfd" : "fork", strerror(errno));
		status = 1 << 8;
	}
	/* The streams are the command's alone: its end must be seen as their end. */
	null_file = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int stream = 0; stream < 2; stream++)
		if (null_file < 0 || dup2(null_file, stream) < 0)
			close(stream);
	while (command > 0) {
		struct signalfd_siginfo caught;
		struct pollfd           polled[2] = { { .fd = (int)lifeline, .events = POLLIN },
			                              { .fd = signal_file, .events = POLLIN } };

		if (poll(polled, 2, -1) < 0 && errno != EINTR) {
			perror("steelyard-load: the guard cannot wait: poll");
			break;
		}
		if (polled[0].revents)
			break;
		if (polled[1].revents &&
		    read(signal_file, &caught, sizeof(caught)) == (ssize_t)sizeof(caught) &&
		    (caught.ssi_signo != SIGCHLD || command_ended(command, &status)))
			break;
	}
	descendants_end();
	if (ledger >= 0)
		ledger_put_back(ledger);
	tree_remove(argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#else

int guard(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: guard works on Linux only\n");
	return 77;
}

#endif
