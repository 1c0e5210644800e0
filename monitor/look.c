/* look.c -- see look.h. */
#include "look.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The text of /proc/PID/NAME. Returns its length, or -1. */
static ssize_t text_of(pid_t pid, const char *name, char *text, size_t room)
{
	char    path[64];
	ssize_t length;
	int     file;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	length = read(file, text, room - 1);
	close(file);
	if (length >= 0)
		text[length] = '\0';
	return length;
}

/* The fields of stat that are used, by their numbers in proc_pid_stat(5). */
enum { PARENT = 4, MINOR = 10, MAJOR = 12, USER = 14, SYSTEM = 15, THREADS = 20, START = 22, FIELDS };

struct stat_text {
	char     program[16], state;
	uint64_t field[FIELDS];
};

static int read_stat(pid_t pid, struct stat_text *stat)
{
	char  text[1024];
	char *from, *end;

	if (text_of(pid, "stat", text, sizeof text) <= 0)
		return -1;
	/* A program's name may hold anything, a parenthesis as well: the last one ends it. */
	from = strchr(text, '(');
	end = strrchr(text, ')');
	if (!from || !end)
		return -1;
	*end = '\0';
	snprintf(stat->program, sizeof stat->program, "%s", from + 1);
	stat->state = end[2];
	from = end + 3;
	for (int i = PARENT; i < FIELDS; i++)
		stat->field[i] = strtoull(from, &from, 10);
	return 0;
}

/* A first thread may have ended before the others: then it waits for them as a zombie. */
static int has_ended(const struct stat_text *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->field[THREADS] <= 1;
}

/* Exact, of all threads, ended ones as well: the process's own clock. */
static uint64_t run_time(pid_t pid)
{
	struct timespec time;
	clockid_t       clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return UNKNOWN;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t line_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);
	uint64_t    value;

	return found && sscanf(found + strlen(name), ": %" SCNu64, &value) == 1 ? value : UNKNOWN;
}

static uint64_t bytes_of(const char *text, const char *name)
{
	uint64_t kib = line_of(text, name);

	return kib == UNKNOWN ? UNKNOWN : kib * 1024;
}

static void look_memory(pid_t pid, uint64_t figure[FIGURES])
{
	char text[4096];

	if (text_of(pid, "status", text, sizeof text) <= 0)
		return;
	figure[virtual_peak] = bytes_of(text, "VmPeak");
	figure[virtual_end] = bytes_of(text, "VmSize");
	figure[memory_peak] = bytes_of(text, "VmHWM");
	figure[memory_end] = bytes_of(text, "VmRSS");
	figure[swap_end] = bytes_of(text, "VmSwap");
}

int look(pid_t pid, struct process *process)
{
	uint64_t         tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct stat_text stat;
	uint64_t         run = run_time(pid);

	if (read_stat(pid, &stat) || has_ended(&stat))
		return -1;
	process->parent = (pid_t)stat.field[PARENT];
	process->threads = stat.field[THREADS];
	process->begin_ns = stat.field[START] * tick_ns;
	memcpy(process->program, stat.program, sizeof process->program);
	process->figure[faults_minor] = stat.field[MINOR];
	process->figure[faults_major] = stat.field[MAJOR];
	process->figure[run_ns] = run;
	if (run != UNKNOWN)
		cputime_split(run, stat.field[USER] * tick_ns, stat.field[SYSTEM] * tick_ns,
		              &process->figure[cpu_user_ns], &process->figure[cpu_system_ns]);
	look_memory(pid, process->figure);
	return 0;
}

size_t look_threads(pid_t pid, pid_t threads[], size_t most)
{
	char           path[64];
	DIR           *directory;
	struct dirent *entry;
	size_t         count = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return 0;
	while (count < most && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			threads[count++] = (pid_t)atoi(entry->d_name);
	closedir(directory);
	return count;
}

/* Every process there is. */
static size_t everybody(struct kin **all)
{
	DIR           *directory = opendir("/proc");
	struct dirent *entry;
	size_t         count = 0, room = 0;

	*all = NULL;
	while (directory && (entry = readdir(directory))) {
		struct stat_text stat;
		pid_t            pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || read_stat(pid, &stat) || has_ended(&stat))
			continue;
		if (count == room) {
			room = room ? 2 * room : 256;
			*all = realloc(*all, room * sizeof **all);
			if (!*all)
				abort();
		}
		(*all)[count++] = (struct kin){ .pid = pid, .parent = (pid_t)stat.field[PARENT] };
	}
	if (directory)
		closedir(directory);
	return count;
}

static int is_among(const struct kin *kin, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (kin[i].pid == pid)
			return 1;
	return 0;
}

size_t look_descendants(const pid_t pids[], size_t count, struct kin **kin)
{
	struct kin *all;
	size_t      everyone = everybody(&all);
	size_t      found = 0;

	*kin = malloc((everyone + count + 1) * sizeof **kin);
	if (!*kin)
		abort();
	for (size_t i = 0; i < count; i++)
		if (!is_among(*kin, found, pids[i]))
			(*kin)[found++] = (struct kin){ .pid = pids[i] };
	for (size_t i = 0; i < found; i++)
		for (size_t j = 0; j < everyone; j++) {
			if (all[j].pid == (*kin)[i].pid && !(*kin)[i].parent)
				(*kin)[i].parent = all[j].parent;
			if (all[j].parent != (*kin)[i].pid || is_among(*kin, found, all[j].pid))
				continue;
			all[j].generation = (*kin)[i].generation + 1;
			(*kin)[found++] = all[j];
		}
	free(all);
	return found;
}

ssize_t look_cgroup(const char *directory, pid_t **pids)
{
	char   path[4096];
	FILE  *file;
	size_t count = 0, room = 64;
	int    pid;

	snprintf(path, sizeof path, "%s/cgroup.procs", directory);
	file = fopen(path, "re");
	if (!file)
		return -1;
	*pids = malloc(room * sizeof **pids);
	while (*pids && fscanf(file, "%d", &pid) == 1) {
		if (count == room) {
			room *= 2;
			*pids = realloc(*pids, room * sizeof **pids);
			if (!*pids)
				break;
		}
		(*pids)[count++] = (pid_t)pid;
	}
	fclose(file);
	if (!*pids)
		abort();
	return (ssize_t)count;
}
