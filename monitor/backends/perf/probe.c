/* probe.c -- see perf.h: whether counters are available here, and of what. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/procfs.h"
#include "perf.h"

/* Whether it writes those records under the lock that keeps them whole: see backend.c. */
static int is_locked(void)
{
	struct utsname name;
	unsigned       major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 13));
}

/* Whether the kernel says what a task had counted at its end: a child's child is made and waited
 * for. */
static int is_reported_at_end(char *why, size_t why_room)
{
	struct origin origin = { 0 };
	size_t        count = kinds.count;
	int           gate[2], is_said = 0, status = 0;
	union raw     raw;
	pid_t         child;

	if (pipe(gate)) {
		snprintf(why, why_room, "no process to try perf on: pipe: %s", strerror(errno));
		return 0;
	}
	child = fork();
	if (!child) {
		char byte;

		close(gate[1]);
		if (read(gate[0], &byte, 1) == 0 && (child = fork()) > 0)
			waitpid(child, NULL, 0);
		_exit(child < 0 ? errno : 0);
	}
	close(gate[0]);
	kinds.count = 1;
	perf.pages = 1;
	if (child > 0 && !root_open(&origin, child, 0)) {
		close(gate[1]);
		waitpid(child, &status, 0);
		while (ring_next(&perf.root[0].ring[0], &raw))
			is_said |= raw.header.type == PERF_RECORD_READ &&
			           raw.read.pid != (uint32_t)child;
		if (!is_said && WIFEXITED(status) && WEXITSTATUS(status))
			snprintf(why, why_room, "no process to try perf on: fork: %s",
			         strerror(WEXITSTATUS(status)));
		else if (!is_said)
			snprintf(
				why, why_room,
				"this kernel does not say what a task's counters were at its end: a fault "
				"of Linux since 5.13, mended in 6.19 and in later stable ones");
	} else {
		snprintf(why, why_room, "%s: %s",
		         child < 0 ? "no process to try perf on: fork" : perf.failed,
		         strerror(errno));
		close(gate[1]);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	roots_close();
	kinds.count = count;
	perf.account.maps_bytes = 0;
	return is_said;
}

static int paranoia(void)
{
	FILE *file = procfs_file("sys/kernel/perf_event_paranoid");
	int   value = -1;

	if (file) {
		if (fscanf(file, "%d", &value) != 1)
			value = -1;
		fclose(file);
	}
	return value;
}

/* A counter, if we may count; whether of the kernel too is then known. The kernel waits for a grace
 * period at its first counter: so this one stays open while others are tried. */
static int try_counter(char *why, size_t why_room)
{
	struct opening opening = { .type = PERF_TYPE_SOFTWARE,
		                   .config = PERF_COUNT_SW_TASK_CLOCK,
		                   .processor = -1,
		                   .group = -1,
		                   .inherited = 1,
		                   .reported = 1 };
	int            file;

	kinds.is_user_only = 0;
	file = counter_open(&opening);
	if (file < 0 && (errno == EACCES || errno == EPERM)) {
		kinds.is_user_only = 1;
		file = counter_open(&opening);
	}
	if (file < 0)
		snprintf(why, why_room, "perf_event_open: %s (kernel.perf_event_paranoid is %d)",
		         strerror(errno), paranoia());
	return file;
}

static int refuse(const struct order *order, char *why, size_t why_room)
{
	const char *because = NULL;

	if (order->detail == BUDGET)
		because = "a process's own counts are known only at its end, not window by window: "
			  "--detail life or calls";
	else if (order->detail == PROFILE)
		because =
			"perf's samples do not say which system call a process is in: --detail life or calls";
	else if (order->detail == LATENCY)
		because = "counters have no times: --detail life or calls";
	else if (order->threads || order->prove)
		because = "there are neither records of threads nor windows without counters here";
	if (because)
		snprintf(why, why_room, "%s", because);
	return because ? -1 : 0;
}

static int try_all(const struct order *order, char *why, size_t why_room)
{
	if (roots_find_processors(why, why_room))
		return -1;
	if (kinds_choose(order->detail)) {
		snprintf(why, why_room,
		         kinds.is_user_only
		                 ? "system calls can be counted with CAP_PERFMON, or with "
		                   "kernel.perf_event_paranoid of 1 or less"
		                 : "the numbers of tracepoints cannot be read: tracefs "
		                   "is for root alone, or the kernel has none");
		return -1;
	}
	if (!is_locked()) {
		snprintf(
			why, why_room,
			"before Linux 5.13 what two tasks had counted at their ends may be written over "
			"each other");
		return -1;
	}
	return is_reported_at_end(why, why_room) ? 0 : -1;
}

int probe(const struct order *order, char *why, size_t why_room)
{
	int file, answer;

	if (refuse(order, why, why_room) || (file = try_counter(why, why_room)) < 0)
		return -1;
	answer = try_all(order, why, why_room);
	close(file);
	return answer;
}
