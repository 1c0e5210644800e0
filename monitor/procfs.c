/* procfs.c -- see procfs.h. */
#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME_ROOM = 64, FILE_ROOM = 16384, TICKS_PER_SECOND = 100 /* USER_HZ, on every Linux */ };

int procfs_open(pid_t pid, pid_t thread)
{
	char name[NAME_ROOM];

	if (thread)
		snprintf(name, sizeof name, "/proc/%d/task/%d", (int)pid, (int)thread);
	else
		snprintf(name, sizeof name, "/proc/%d", (int)pid);
	return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The whole file, ended by a zero. Returns its length, or -1. */
static ssize_t slurp(int directory, const char *name, char room[FILE_ROOM])
{
	int     file = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t filled = 0, count = 0;

	room[0] = '\0';
	if (file < 0)
		return -1;
	while (filled < FILE_ROOM - 1 && (count = read(file, room + filled, (size_t)(FILE_ROOM - 1 - filled))) > 0)
		filled += count;
	close(file);
	room[filled] = '\0';
	return count < 0 || filled == 0 ? -1 : filled;
}

int procfs_program(int directory, char program[16])
{
	char    room[FILE_ROOM];
	ssize_t length = slurp(directory, "comm", room);

	if (length < 1)
		return -1;
	room[length - 1] = '\0'; /* the line's end; the name itself may hold any other byte */
	snprintf(program, 16, "%.15s", room);
	return 0;
}

/* A line "name: number"; returns whether it was this one. */
static int take(const char *line, const char *name, int base, uint64_t *value)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) || line[length] != ':')
		return 0;
	*value = strtoull(line + length + 1, NULL, base);
	return 1;
}

struct field {
	const char *name;
	enum figure figure;
	uint64_t    unit;
};

/* Takes from each line of a file the fields it has. */
static void take_fields(char *text, const struct field *fields, size_t count, uint64_t figure[FIGURES])
{
	char    *rest;
	uint64_t value;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		for (size_t i = 0; i < count; i++)
			if (take(line, fields[i].name, 10, &value))
				figure[fields[i].figure] = value * fields[i].unit;
}

int procfs_status(int directory, struct procfs_status *status, uint64_t figure[FIGURES])
{
	static const struct field fields[] = {
		{ "VmPeak", virtual_peak, 1024 },
		{ "VmSize", virtual_end, 1024 },
		{ "VmHWM", memory_peak, 1024 },
		{ "VmRSS", memory_end, 1024 },
		{ "VmSwap", swap_end, 1024 },
		{ "voluntary_ctxt_switches", switches_voluntary, 1 },
		{ "nonvoluntary_ctxt_switches", switches_involuntary, 1 },
	};
	char     room[FILE_ROOM];
	uint64_t value;

	if (slurp(directory, "status", room) < 0)
		return -1;
	/* The name comes first, with its line ends escaped: what follows a line's end is the kernel's. */
	for (char *line = room, *end; line; line = (end = strchr(line, '\n')) ? end + 1 : NULL) {
		if (take(line, "Tgid", 10, &value))
			status->group = (pid_t)value;
		else if (take(line, "PPid", 10, &value))
			status->parent = (pid_t)value;
		else if (take(line, "TracerPid", 10, &value))
			status->tracer = (pid_t)value;
		else if (take(line, "SigIgn", 16, &value))
			status->ignored = value;
		else if (take(line, "SigCgt", 16, &value))
			status->caught = value;
	}
	if (figure)
		take_fields(room, fields, sizeof fields / sizeof *fields, figure);
	return 0;
}

int procfs_stat(int directory, struct procfs_stat *stat)
{
	static const uint64_t tick_ns = 1000000000 / TICKS_PER_SECOND;
	char        room[FILE_ROOM];
	const char *behind;
	int         parent;
	uint64_t    user, system, begin;

	if (slurp(directory, "stat", room) < 0 || !(behind = strrchr(room, ')')))
		return -1;
	if (sscanf(behind + 1,
	           " %c %d %*d %*d %*d %*d %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %" SCNu64 " %" SCNu64
	           " %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64,
	           &stat->state, &parent, &stat->faults_minor, &stat->children_faults_minor, &stat->faults_major,
	           &user, &system, &stat->threads, &begin) != 9)
		return -1;
	stat->parent = (pid_t)parent;
	stat->user_ns = user * tick_ns;
	stat->system_ns = system * tick_ns;
	stat->begin_ns = begin * tick_ns;
	return 0;
}

int procfs_schedstat(int directory, uint64_t figure[FIGURES])
{
	char     room[FILE_ROOM];
	uint64_t run, wait;

	if (slurp(directory, "schedstat", room) < 0 || sscanf(room, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
		return -1;
	figure[run_ns] = run;
	figure[wait_ns] = wait;
	return 0;
}

int procfs_io(int directory, uint64_t figure[FIGURES])
{
	static const struct field fields[] = {
		{ "rchar", characters_read, 1 },   { "wchar", characters_written, 1 },
		{ "syscr", reads, 1 },             { "syscw", writes, 1 },
		{ "read_bytes", bytes_read, 1 },   { "write_bytes", bytes_written, 1 },
		{ "cancelled_write_bytes", bytes_cancelled, 1 },
	};
	char room[FILE_ROOM];

	if (slurp(directory, "io", room) < 0)
		return -1;
	take_fields(room, fields, sizeof fields / sizeof *fields, figure);
	return 0;
}

/* The number of the clock that has this part of that process's time: MAKE_PROCESS_CPUCLOCK of the kernel's
 * include/linux/posix-timers_types.h. The C library's clock_getcpuclockid gives only the last of them. */
static int read_clock(pid_t pid, int which, uint64_t *ns)
{
	struct timespec time;

	if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | (unsigned)which), &time))
		return -1;
	*ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return 0;
}

int procfs_clocks(pid_t pid, struct procfs_clocks *clocks)
{
	enum { BOTH_TICKS, USER_TICKS, EXACT };
	struct procfs_clocks read = { 0 };
	uint64_t             both;

	/* User ticks first: one that comes between would else make them more than all. */
	if (read_clock(pid, USER_TICKS, &read.user_ticks_ns) || read_clock(pid, BOTH_TICKS, &both) ||
	    read_clock(pid, EXACT, &read.run_ns))
		return -1;
	read.system_ticks_ns = both - read.user_ticks_ns;
	*clocks = read;
	return 0;
}

/* Calls `each` for every number among the names in a directory. */
static void each_number(const char *name, void (*each)(pid_t number, void *context), void *context)
{
	DIR           *directory = opendir(name);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			each((pid_t)atoi(entry->d_name), context);
	if (directory)
		closedir(directory);
}

void procfs_threads(pid_t pid, void (*each)(pid_t thread, void *context), void *context)
{
	char name[NAME_ROOM];

	snprintf(name, sizeof name, "/proc/%d/task", (int)pid);
	each_number(name, each, context);
}

void procfs_processes(void (*each)(pid_t pid, void *context), void *context)
{
	each_number("/proc", each, context);
}

struct search {
	pid_t  parent;
	void (*each)(pid_t child, void *context);
	void  *context;
	int    too_many; /* for the room of one file */
};

static void children_of_thread(pid_t thread, void *context)
{
	struct search *search = context;
	char           room[FILE_ROOM], name[NAME_ROOM], *rest;
	int            directory = procfs_open(search->parent, 0);

	snprintf(name, sizeof name, "task/%d/children", (int)thread);
	if (slurp(directory, name, room) == FILE_ROOM - 1)
		search->too_many = 1;
	else
		for (char *word = strtok_r(room, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			search->each((pid_t)atoi(word), search->context);
	close(directory);
}

static void compare_parent(pid_t pid, void *context)
{
	struct search     *search = context;
	struct procfs_stat stat;
	int                directory = procfs_open(pid, 0);

	if (directory >= 0 && !procfs_stat(directory, &stat) && stat.parent == search->parent)
		search->each(pid, search->context);
	close(directory);
}

void procfs_children(pid_t pid, void (*each)(pid_t child, void *context), void *context)
{
	struct search search = { .parent = pid, .each = each, .context = context };

	/* A kernel without CONFIG_PROC_CHILDREN has no such files. */
	if (access("/proc/thread-self/children", R_OK) == 0)
		procfs_threads(pid, children_of_thread, &search);
	else
		search.too_many = 1;
	if (search.too_many)
		each_number("/proc", compare_parent, &search);
}
