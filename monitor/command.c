/* command.c -- see command.h. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/procfs.h"
#include "outside.h"

/* What our own program may still touch between our last look at it and its exec. */
enum { MARGIN = 128 << 10 };

static struct {
	int      gate[2];    /* the child reads; a byte means go, the end means that we are gone */
	int      failure[2]; /* it writes errno there if the exec fails */
	uint64_t before[FIGURES]; /* what it had cost when it was let go */
	uint64_t cost[FIGURES];   /* and from then on to its end; UNKNOWN: not that either */
	uint64_t peak_of_all;
	int      has_looked;
} s = { .gate = { -1, -1 }, .failure = { -1, -1 } };

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

static void look_before(void)
{
	struct procfs_stat   stat;
	struct procfs_status status;
	int                  directory = procfs_open(outside.command, 0);

	figures_forget(s.before, ALL);
	figures_forget(s.cost, ALL);
	s.peak_of_all = UNKNOWN;
	if (directory < 0)
		return;
	procfs_totals(outside.command, directory, &stat, s.before);
	procfs_status(directory, &status, s.before);
	close(directory);
}

void command_release(void)
{
	char go = 1;

	look_before();

	/* It may have been killed meanwhile: then its end says so. */
	if (write(s.gate[1], &go, 1) != 1)
		errno = 0;
	close(s.gate[1]);
}

/* wait4's account of a process holds its waited-for children too. What /proc has of a zombie is its
 * own alone, and says whether there were such: each has had a page fault. */
static void look_at_zombie(const struct rusage *usage)
{
	struct procfs_stat stat;
	uint64_t           peak = (uint64_t)usage->ru_maxrss * 1024;
	int                directory = procfs_open(outside.command, 0);

	if (directory < 0)
		return;
	if (peak > s.before[memory_peak] + MARGIN && s.before[memory_peak] != UNKNOWN)
		s.peak_of_all = peak;
	if (!procfs_totals(outside.command, directory, &stat, s.cost) &&
	    !stat.children_faults_minor) {
		s.cost[switches_voluntary] = (uint64_t)usage->ru_nvcsw;
		s.cost[switches_involuntary] = (uint64_t)usage->ru_nivcsw;
		s.cost[memory_peak] = s.peak_of_all;
	}
	figures_subtract(s.cost, s.before, SUMS);
	figures_split_time(s.cost);
	close(directory);
}

void command_look(void)
{
	siginfo_t     info = { 0 };
	struct rusage usage;

	/* The kernel's call has an argument more than the C library's function: it leaves a zombie
	 * what it is. */
	if (s.has_looked ||
	    syscall(SYS_waitid, P_PID, outside.command, &info, WEXITED | WNOHANG | WNOWAIT | __WALL,
	            &usage) ||
	    !info.si_pid)
		return;
	s.has_looked = 1;
	look_at_zombie(&usage);
}

void command_complete(struct process *process)
{
	int has_split = process->figure[cpu_user_ns] != UNKNOWN;

	if (!s.has_looked)
		return;
	for (int i = 0; i < FIGURES; i++) {
		uint32_t bit = UINT32_C(1) << i;

		if (s.cost[i] == UNKNOWN || !(figures[i].kind & (SUMS | PEAK)) ||
		    (process->figure[i] != UNKNOWN && !(process->at_least & bit)))
			continue;
		process->figure[i] = s.cost[i];
		process->at_least &= ~bit;
	}
	if (!has_split) /* the shares are those of the whole, the time is what the backend
	                   counted */
		figures_split_time(process->figure);
}

uint64_t command_peak_of_all(void)
{
	return s.has_looked ? s.peak_of_all : UNKNOWN;
}

int command_failure(void)
{
	unsigned char failure;

	return read(s.failure[0], &failure, 1) == 1 ? failure : 0;
}
