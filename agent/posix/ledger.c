/* ledger.c -- see ledger.h. Linux only, as its only caller, the guard, is. */
#ifdef __linux__

#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REMOVAL_TRIES = 500 };

struct ledger {
	char  *bytes;
	char **lines;
	int    count;
};

static void ledger_free(struct ledger *ledger)
{
	free(ledger->bytes);
	free(ledger->lines);
}

/* Reads it whole, up to a zero byte, which no ledger has. Returns 0, or -1 with errno and nothing
 * to free. */
static int ledger_read(int file, struct ledger *ledger)
{
	struct stat status;
	char       *rest;
	ssize_t     got = -1;

	*ledger = (struct ledger){ 0 };
	if (fstat(file, &status))
		return -1;
	ledger->bytes = malloc((size_t)status.st_size + 1);
	ledger->lines = malloc(((size_t)status.st_size + 1) * sizeof(*ledger->lines));
	if (ledger->bytes && ledger->lines)
		got = pread(file, ledger->bytes, (size_t)status.st_size, 0);
	if (got < 0) {
		ledger_free(ledger);
		return -1;
	}
	ledger->bytes[got] = 0;
	rest = ledger->bytes;
	/* A line without its newline was cut short before what it announces was done. */
	while (strchr(rest, '\n'))
		ledger->lines[ledger->count++] = strsep(&rest, "\n");
	return 0;
}

/* What stands behind "KIND<tab>" in that line; NULL if the line is of another kind. */
static char *said(char *line, const char *kind)
{
	size_t length = strlen(kind);

	return !strncmp(line, kind, length) && line[length] == '\t' ? line + length + 1 : NULL;
}

static int refused(const char *what, const char *value)
{
	fprintf(stderr, "steelyard-load: %s %s: %s\n", what, value, strerror(errno));
	return -1;
}

static int write_file(const char *path, const char *text)
{
	int     file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (file < 0)
		return -1;
	put = write(file, text, strlen(text));
	if (close(file) || put != (ssize_t)strlen(text))
		return -1;
	return 0;
}

static int enter_group(const char *group)
{
	char path[PATH_MAX + 16], own[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(own, sizeof(own), "%d", (int)getpid());
	return write_file(path, own) ? refused("entering the control group", group) : 0;
}

static int enter_nice(const char *value)
{
	int wanted = atoi(value);

	errno = 0;
	if (setpriority(PRIO_PROCESS, 0, wanted))
		return refused("nice", value);
	errno = 0;
	if (getpriority(PRIO_PROCESS, 0) != wanted || errno) {
		errno = errno ? errno : EPERM;
		return refused("nice", value);
	}
	return 0;
}

static int enter_processors(const char *list)
{
	cpu_set_t wanted, found;

	CPU_ZERO(&wanted);
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		CPU_SET((size_t)atoi(at), &wanted);
	if (sched_setaffinity(0, sizeof(wanted), &wanted) ||
	    sched_getaffinity(0, sizeof(found), &found))
		return refused("processors", list);
	if (!CPU_EQUAL(&wanted, &found)) {
		errno = EINVAL;
		return refused("processors", list);
	}
	return 0;
}

int ledger_enter(int file)
{
	struct ledger ledger;
	int           status = 0;

	if (ledger_read(file, &ledger))
		return refused("reading", "the ledger");
	for (int i = 0; i < ledger.count && !status; i++) {
		char *value;

		if ((value = said(ledger.lines[i], "group")))
			status = enter_group(value);
		else if ((value = said(ledger.lines[i], "nice")))
			status = enter_nice(value);
		else if ((value = said(ledger.lines[i], "processors")))
			status = enter_processors(value);
	}
	ledger_free(&ledger);
	return status;
}

/* Processes that were killed leave their group a moment after they were waited for. */
static int remove_group(const char *group)
{
	for (int tries = 0; tries < REMOVAL_TRIES; tries++) {
		if (rmdir(group) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -1;
		usleep(2000);
	}
	return -1;
}

static int remove_directory(const char *name, const struct stat *status, int kind,
                            struct FTW *place)
{
	(void)status;
	(void)place;
	/* The files of a group go with it. */
	return kind == FTW_DP && rmdir(name) && errno != ENOENT ? -1 : 0;
}

static int remove_groups(const char *tree)
{
	for (int tries = 0; tries < REMOVAL_TRIES; tries++) {
		if (access(tree, F_OK) ||
		    nftw(tree, remove_directory, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0)
			return 0;
		usleep(2000);
	}
	return -1;
}

/* "FILE<tab>VALUE" */
static int put_back(char *entry)
{
	char *value = strchr(entry, '\t');

	if (!value)
		return 0;
	*value++ = 0;
	return write_file(entry, value);
}

/* Runs the command, whose words have tabs between them. Returns 0 if it succeeded. */
static int run_undo(char *command)
{
	enum { WORDS_MOST = 32 };
	char *words[WORDS_MOST + 1] = { 0 }, *word;
	pid_t child;
	int   status;

	for (int i = 0; i < WORDS_MOST && (word = strsep(&command, "\t")); i++)
		words[i] = word;
	child = fork();
	if (child == 0) {
		sigset_t none;
		int      nothing = open("/dev/null", O_RDWR);

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		for (int stream = 0; stream <= 2; stream++)
			dup2(nothing, stream);
		execvp(words[0], words);
		_exit(127);
	}
	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status == 0 ? 0 : -1;
}

void ledger_put_back(int file)
{
	struct ledger ledger;
	char          link[64], path[PATH_MAX];
	int           failures = 0;
	ssize_t       length;

	if (ledger_read(file, &ledger))
		return;
	for (int i = ledger.count - 1; i >= 0; i--) {
		char *entry = said(ledger.lines[i], "set"), *group = said(ledger.lines[i], "group");
		char *undo = said(ledger.lines[i], "undo"), *tree = said(ledger.lines[i], "groups");

		if (entry && put_back(entry))
			failures++;
		if (undo && run_undo(undo))
			failures++;
		if (tree && remove_groups(tree))
			failures++;
		if (group && remove_group(group))
			failures++;
	}
	ledger_free(&ledger);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	if (failures || length <= 0)
		return;
	path[length] = 0;
	unlink(path);
}

#else

typedef int ledger_is_for_linux; /* ISO C wants something in every file */

#endif
