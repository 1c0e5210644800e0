/* command.c -- see command.h. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/posix/timespec.h"
#include "kernel/procfs.h"
#include "outside.h"
#include "write.h"

/* What our own program may still touch between our last look at it and its exec. */
enum { MARGIN = 128 << 10 };
/* What wait4 may tell more than a backend that has seen everything: faults between our last look
 * and the exec, besides those of carrying its words over (some 11 were seen; the shortest process
 * that can be missing has 30); processor time that perf's counters are not there for. */
enum { FAULTS_ALLOWED = 25 };
enum { RUN_ALLOWED_NS = 20000000, RUN_A_PROCESS_NS = 1000000 };

static struct {
	const char *name;         /* of the program, as the kernel will have it */
	char        our_name[16]; /* what its process bears until its exec */
	int         gate[2]; /* the child reads; a byte means go, the end means that we are gone */
	int         failure[2];      /* it writes errno there if the exec fails */
	uint64_t    before[FIGURES]; /* what it had cost when it was let go */
	uint64_t    cost[FIGURES];   /* and from then on to its end; UNKNOWN: not that either */
	uint64_t    peak_of_all;
	int         has_looked;
	uint64_t    looked_ns;
	int         status;        /* as wait4 gives it */
	uint64_t    told[FIGURES]; /* of it and of the children that it waited for; few are known */
	enum figure short_of;      /* of which clearly less was seen, */
	uint64_t    seen;          /* namely that */
	int         has_failed;    /* errno of the exec, or 0; -1: not asked yet */
} s = { .gate = { -1, -1 }, .failure = { -1, -1 }, .has_failed = -1 };

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
	const char *slash = strrchr(command[0], '/');
	pid_t       pid;

	s.name = slash ? slash + 1 : command[0];
	prctl(PR_GET_NAME, s.our_name);
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

	if (peak > s.before[memory_peak] + MARGIN && s.before[memory_peak] != UNKNOWN)
		s.peak_of_all = peak;
	if (procfs_totals(outside.command, directory, &stat, s.cost)) {
		procfs_clocks(outside.command, s.cost); /* it is hidden from us, its clocks are not
		                                         */
	} else if (!stat.children_faults_minor) {
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
	s.looked_ns = boottime_ns();
	s.status = info.si_code == CLD_EXITED
	                   ? info.si_status << 8
	                   : info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
	figures_forget(s.told, ALL);
	s.told[faults_minor] = (uint64_t)usage.ru_minflt;
	s.told[run_ns] = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	figures_subtract(s.told, s.before, SUMS);
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
	if (!command_failure() &&
	    (!strcmp(process->program, "?") || !strcmp(process->program, s.our_name)))
		snprintf(process->program, sizeof process->program, "%.15s", s.name);
	process->status = s.status;
	if (process->end_ns == UNKNOWN) {
		process->end_ns = s.looked_ns;
		process->is_missed = 1;
		lost[LOST_END]++;
	}
	if (!has_split) /* the shares are those of the whole, the time is what the backend
	                   counted */
		figures_split_time(process->figure);
}

uint64_t command_peak_of_all(void)
{
	return s.has_looked ? s.peak_of_all : UNKNOWN;
}

/* Whether what was seen is clearly less. A process's own counters begin after the work of making it
 * and end before that of taking it down. */
static int falls_short(const struct account *account, enum figure figure, uint64_t allowed)
{
	uint64_t seen = account->total.figure[figure];

	if (s.told[figure] == UNKNOWN || seen == UNKNOWN ||
	    account->total.at_least & UINT32_C(1) << figure)
		return 0;
	if (account->unfollowed && account->unfollowed_figure[figure] == UNKNOWN)
		return 0;
	if (account->unfollowed)
		seen += account->unfollowed_figure[figure];
	if (s.told[figure] <= seen + allowed)
		return 0;
	s.short_of = figure;
	s.seen = seen;
	return 1;
}

static uint64_t pages_of_words(char *const *words)
{
	uint64_t bytes = 0;

	for (; *words; words++)
		bytes += strlen(*words) + 1 + sizeof *words;
	return bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

void command_check(const struct order *order, const struct account *account, int has_own_counters)
{
	uint64_t faults = FAULTS_ALLOWED, time_ns;

	if (!s.has_looked)
		return;
	faults += pages_of_words(order->command) + pages_of_words(environ);
	time_ns = RUN_ALLOWED_NS + s.told[run_ns] / 4 + RUN_A_PROCESS_NS * write_processes();
	if ((!has_own_counters && falls_short(account, faults_minor, faults)) ||
	    falls_short(account, run_ns, time_ns))
		lost[LOST_COSTS] = 1;
}

int command_say_costs(char *text, size_t room)
{
	int is_time = s.short_of == run_ns;

	if (!s.has_looked)
		return -1;
	snprintf(
		text, room,
		"by the kernel's account the command, with the children that it waited for, had %" PRIu64
		" %s, of which %" PRIu64 " were seen: processes, or parts of them, are missing",
		is_time ? s.told[run_ns] / 1000000 : s.told[faults_minor],
		is_time ? "ms of processor time" : "page faults",
		is_time ? s.seen / 1000000 : s.seen);
	return 0;
}

int command_failure(void)
{
	unsigned char failure;

	if (s.has_failed < 0)
		s.has_failed = read(s.failure[0], &failure, 1) == 1 ? failure : 0;
	return s.has_failed;
}
