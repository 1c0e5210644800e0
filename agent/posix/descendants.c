/* descendants.c -- see workloads/api/descendants.h. */
#ifdef __linux__
#include "../../workloads/api/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/numbers.h"

enum { DEPTH_MOST = 1000, ROUNDS_MOST = 500, PAUSE_US = 2000 };

static pid_t parent_of(pid_t pid)
{
	char     path[64], line[512], *rest;
	uint64_t parent = 0;
	FILE    *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	/* The name may hold spaces and brackets: what follows its last bracket is plain. */
	rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!rest || !strtok_r(rest + 1, " ", &rest) || take_number(&rest, &parent))
		return -1;
	return (pid_t)parent;
}

static int descends(pid_t pid, pid_t top)
{
	for (int depth = 0; pid > 1 && depth < DEPTH_MOST; depth++) {
		pid = parent_of(pid);
		if (pid == top)
			return 1;
	}
	return 0;
}

void descendants_each(pid_t top, void (*each)(pid_t pid, void *context), void *context)
{
	DIR           *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && (entry = readdir(processes))) {
		uint64_t pid;

		if (!parse_number(entry->d_name, &pid) && descends((pid_t)pid, top))
			each((pid_t)pid, context);
	}
	if (processes)
		closedir(processes);
}

/* A process is held before it is looked at again: its number may have become another's. */
static void kill_one(pid_t pid, void *count)
{
	int is_ours = 1, held = -1;

#ifdef SYS_pidfd_open
	held = (int)syscall(SYS_pidfd_open, pid, 0);
	if (held >= 0 || errno == ESRCH)
		is_ours = held >= 0 && descends(pid, getpid());
#endif
	if (is_ours && held < 0) /* an older kernel */
		kill(pid, SIGKILL);
#ifdef SYS_pidfd_send_signal
	else if (is_ours)
		syscall(SYS_pidfd_send_signal, held, SIGKILL, NULL, 0);
#endif
	if (held >= 0)
		close(held);
	*(int *)count += is_ours;
}

void descendants_end(void)
{
	for (int round = 0; round < ROUNDS_MOST; round++) {
		int killed = 0;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		descendants_each(getpid(), kill_one, &killed);
		if (!killed)
			return;
		usleep(PAUSE_US);
	}
}

#else
typedef int nothing_here; /* ISO C wants something in every file */
#endif
