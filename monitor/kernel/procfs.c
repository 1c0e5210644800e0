/* procfs.c -- see procfs.h. */
#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/posix/timespec.h"
#include "kernel/clocks.h"

enum { FILE_ROOM = 16384 };
static const uint64_t TICK_NS = 10000000; /* USER_HZ is 100 on every Linux */
static const char    *root = "/proc";

void procfs_use(const char *directory)
{
	root = directory;
}

/* Numbers in the namespace that /proc shows and in those below it, down to the process's own: one
 * alone if that is the same. */
static size_t count_numbers(const char *name)
{
	FILE  *file = procfs_file("self/status");
	char   line[256];
	size_t length = strlen(name), count = 0;

	while (file && !count && fgets(line, sizeof line, file))
		if (!strncmp(line, name, length))
			for (char *rest, *word = strtok_r(line + length, " \t\n", &rest); word;
			     word = strtok_r(NULL, " \t\n", &rest))
				count++;
	if (file)
		fclose(file);
	return count;
}

int procfs_check(char *why, size_t why_room)
{
	char    path[PATH_MAX], number[32];
	ssize_t length;

	snprintf(path, sizeof path, "%s/self", root);
	length = readlink(path, number, sizeof number - 1);
	if (length < 0) {
		snprintf(
			why, why_room,
			"/proc is missing, or does not show this process: it may belong to another namespace of "
			"processes");
		return -1;
	}
	number[length] = '\0';
	/* A kernel before 4.1 has no line NSpid. */
	if (atoi(number) == getpid() && count_numbers("NSpid:") <= 1)
		return 0;
	snprintf(why, why_room,
	         "/proc shows another process namespace than ours, with other numbers (unshare "
	         "--mount-proc mounts its own)");
	return -1;
}

FILE *procfs_file(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", root, name);
	return fopen(path, "re");
}

/* What cannot be opened has gone, to everybody who asks here. Where it is we who may open no more,
 * that would be wrong of each process: so it ends the watch, and what is watched goes on. */
static int opened(int file)
{
	if (file < 0 && (errno == EMFILE || errno == ENFILE)) {
		fprintf(stderr, "steelyard-watch: /proc can no longer be read: %s (ulimit -n)\n",
		        strerror(errno));
		_exit(1);
	}
	return file;
}

int procfs_open(pid_t pid, pid_t thread)
{
	char path[PATH_MAX];

	if (thread)
		snprintf(path, sizeof path, "%s/%d/task/%d", root, (int)pid, (int)thread);
	else
		snprintf(path, sizeof path, "%s/%d", root, (int)pid);
	return opened(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The whole file, ended by a zero. Returns its length, or -1. */
static ssize_t slurp(int directory, const char *name, char room[FILE_ROOM])
{
	int     file = opened(openat(directory, name, O_RDONLY | O_CLOEXEC));
	ssize_t filled = 0, count = 0;

	room[0] = '\0';
	if (file < 0)
		return -1;
	while (filled < FILE_ROOM - 1 &&
	       (count = read(file, room + filled, (size_t)(FILE_ROOM - 1 - filled))) > 0)
		filled += count;
	close(file);
	room[filled] = '\0';
	return count < 0 || filled == 0 ? -1 : filled;
}

/* The number that a text begins with, after spaces; UNKNOWN if it is below 0 or too large. Moves
 * the text behind it. Returns -1 if there is none. */
static int number(const char **text, int base, uint64_t *value)
{
	const char *digits = *text + strspn(*text, " \t");
	char       *behind;

	if (!isxdigit((unsigned char)digits[*digits == '-']))
		return -1;
	errno = 0;
	*value = strtoull(digits, &behind, base);
	if (*digits == '-' || errno)
		*value = UNKNOWN;
	if (behind == digits)
		return -1;
	*text = behind;
	return 0;
}

/* The whole text as the number of a process or a thread; 0 if it is none. */
static pid_t pid_in(const char *text)
{
	uint64_t pid;

	return number(&text, 10, &pid) || *text || pid > INT_MAX ? 0 : (pid_t)pid;
}

static uint64_t times(uint64_t value, uint64_t unit)
{
	return value > UNKNOWN / unit ? UNKNOWN : value * unit;
}

int procfs_program(int directory, char program[16])
{
	char    room[FILE_ROOM];
	ssize_t length = slurp(directory, "comm", room);

	if (length < 1)
		return -1;
	if (room[length - 1] == '\n') /* the line's end; the name itself may hold any other byte,
	                                 and such ends too */
		room[length - 1] = '\0';
	snprintf(program, 16, "%.15s", room);
	return 0;
}

/* A line "name: number"; returns whether it was this one. */
static int take(const char *line, const char *name, int base, uint64_t *value)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) || line[length] != ':')
		return 0;
	line += length + 1;
	return !number(&line, base, value);
}

struct field {
	const char *name;
	enum figure figure;
	uint64_t    unit;
};

/* Takes from each line of a file the fields it has. */
static void take_fields(const char *text, const struct field *fields, size_t count,
                        uint64_t figure[FIGURES])
{
	uint64_t value;

	for (const char *line = text, *end; line;
	     line = (end = strchr(line, '\n')) ? end + 1 : NULL)
		for (size_t i = 0; i < count; i++)
			if (take(line, fields[i].name, 10, &value))
				figure[fields[i].figure] = times(value, fields[i].unit);
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
	/* The name comes first, with its line ends escaped: what follows a line's end is the
	 * kernel's. */
	for (const char *line = room, *end; line;
	     line = (end = strchr(line, '\n')) ? end + 1 : NULL) {
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

int procfs_stat(int directory, struct procfs_stat *stat, uint64_t figure[FIGURES])
{
	/* As proc(5) counts them. The name, in parentheses, may hold any byte; behind it all is the
	 * kernel's. */
	enum {
		PARENT = 4,
		MINOR = 10,
		CHILDREN_MINOR,
		MAJOR,
		USER = 14,
		SYSTEM,
		COUNT = 20,
		START = 22,
		FIELDS
	};
	char        room[FILE_ROOM];
	uint64_t    field[FIELDS];
	const char *place;

	if (slurp(directory, "stat", room) < 0 || !(place = strrchr(room, ')')) ||
	    place[1] != ' ' || !place[2])
		return -1;
	stat->state = place[2];
	place += 3;
	for (int i = PARENT; i < FIELDS; i++)
		if (number(&place, 10, &field[i]) || *place != ' ')
			return -1; /* cut short */
	if (field[PARENT] > INT_MAX)
		return -1;
	stat->parent = (pid_t)field[PARENT];
	stat->children_faults_minor = field[CHILDREN_MINOR];
	stat->threads = field[COUNT];
	stat->begin_ns = clocks_of_kernel(times(field[START], TICK_NS));
	if (!figure)
		return 0;
	figure[faults_minor] = field[MINOR];
	figure[faults_major] = field[MAJOR];
	figure[cpu_user_ns] = times(field[USER], TICK_NS);
	figure[cpu_system_ns] = times(field[SYSTEM], TICK_NS);
	return 0;
}

int procfs_stat_of(pid_t pid, pid_t thread, struct procfs_stat *stat)
{
	int directory = procfs_open(pid, thread);
	int answer = procfs_stat(directory, stat, NULL);

	close(directory);
	return answer;
}

int procfs_status_of(pid_t pid, struct procfs_status *status)
{
	int directory = procfs_open(pid, 0);
	int answer = procfs_status(directory, status, NULL);

	close(directory);
	return answer;
}

int procfs_hides(pid_t pid)
{
	struct procfs_stat stat;
	uint64_t           clocks[FIGURES];

	return procfs_stat_of(pid, 0, &stat) && !procfs_clocks(pid, clocks) &&
	       procfs_stat_of(pid, 0, &stat);
}

int procfs_schedstat(int directory, uint64_t figure[FIGURES])
{
	char        room[FILE_ROOM];
	const char *place = room;
	uint64_t    run, wait;

	if (slurp(directory, "schedstat", room) < 0 || number(&place, 10, &run) ||
	    number(&place, 10, &wait))
		return -1;
	figure[run_ns] = run;
	figure[wait_ns] = wait;
	return 0;
}

int procfs_io(int directory, uint64_t figure[FIGURES])
{
	static const struct field fields[] = {
		{ "rchar", characters_read, 1 },
		{ "wchar", characters_written, 1 },
		{ "syscr", reads, 1 },
		{ "syscw", writes, 1 },
		{ "read_bytes", bytes_read, 1 },
		{ "write_bytes", bytes_written, 1 },
		{ "cancelled_write_bytes", bytes_cancelled, 1 },
	};
	char room[FILE_ROOM];

	if (slurp(directory, "io", room) < 0)
		return -1;
	take_fields(room, fields, sizeof fields / sizeof *fields, figure);
	return 0;
}

/* The number of the clock that has this part of that process's time: MAKE_PROCESS_CPUCLOCK of the
 * kernel's include/linux/posix-timers_types.h. The C library's clock_getcpuclockid gives only the
 * last of them. */
static int read_clock(pid_t pid, int which, uint64_t *ns)
{
	struct timespec time;

	if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | (unsigned)which), &time))
		return -1;
	*ns = timespec_ns(time);
	return 0;
}

int procfs_clocks(pid_t pid, uint64_t figure[FIGURES])
{
	enum { BOTH_TICKS, USER_TICKS, EXACT };
	uint64_t user, both, exact;

	/* User ticks first: one that comes between would else make them more than all. */
	if (read_clock(pid, USER_TICKS, &user) || read_clock(pid, BOTH_TICKS, &both) ||
	    read_clock(pid, EXACT, &exact))
		return -1;
	figure[cpu_user_ns] = user;
	figure[cpu_system_ns] = both - user;
	figure[run_ns] = exact;
	return 0;
}

int procfs_totals(pid_t pid, int directory, struct procfs_stat *stat, uint64_t figure[FIGURES])
{
	uint64_t clocks[FIGURES];

	figures_forget(clocks, ALL);
	if (procfs_clocks(pid, clocks) || procfs_stat(directory, stat, figure))
		return -1;
	figures_take(figure, clocks, TOTAL);
	return 0;
}

/* Calls `each` for every number among the names in a directory of the root. */
static void each_number(const char *name, void (*each)(pid_t number, void *context), void *context)
{
	char           path[PATH_MAX];
	DIR           *directory;
	struct dirent *entry;

	snprintf(path, sizeof path, "%s/%s", root, name);
	directory = opendir(path);
	opened(directory ? 0 : -1);
	while (directory && (entry = readdir(directory)))
		if (pid_in(entry->d_name))
			each(pid_in(entry->d_name), context);
	if (directory)
		closedir(directory);
}

void procfs_threads(pid_t pid, void (*each)(pid_t thread, void *context), void *context)
{
	char name[32];

	snprintf(name, sizeof name, "%d/task", (int)pid);
	each_number(name, each, context);
}

void procfs_processes(void (*each)(pid_t pid, void *context), void *context)
{
	each_number(".", each, context);
}

struct search {
	pid_t parent;
	void (*each)(pid_t child, void *context);
	void *context;
	int   too_many; /* for the room of one file */
};

static void children_of_thread(pid_t thread, void *context)
{
	struct search *search = context;
	char           room[FILE_ROOM], *rest;
	int            directory = procfs_open(search->parent, thread);

	if (slurp(directory, "children", room) == FILE_ROOM - 1)
		search->too_many = 1;
	else
		for (char *word = strtok_r(room, " \n", &rest); word;
		     word = strtok_r(NULL, " \n", &rest))
			if (pid_in(word))
				search->each(pid_in(word), search->context);
	close(directory);
}

static void compare_parent(pid_t pid, void *context)
{
	struct search     *search = context;
	struct procfs_stat stat;

	if (!procfs_stat_of(pid, 0, &stat) && stat.parent == search->parent)
		search->each(pid, search->context);
}

void procfs_children(pid_t pid, void (*each)(pid_t child, void *context), void *context)
{
	struct search search = { .parent = pid, .each = each, .context = context };
	FILE         *own = procfs_file("thread-self/children");

	/* A kernel without CONFIG_PROC_CHILDREN has no such files. */
	if (own) {
		fclose(own);
		procfs_threads(pid, children_of_thread, &search);
	}
	if (!own || search.too_many)
		procfs_processes(compare_parent, &search);
}
