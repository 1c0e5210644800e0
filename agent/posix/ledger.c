/* ledger.c -- see ledger.h. Linux only, as its callers, the guard and the laboratory, are. */
#include "../ledger.h"

#include <stdio.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/numbers.h"

enum { REMOVAL_TRIES = 500, OTHER_BOOT = 3 };

/* statfs(2), <linux/magic.h>, which a libc need not have */
enum { GROUPS_1 = 0x27e0eb, GROUPS_2 = 0x63677270, PROC = 0x9fa0, SYSFS = 0x62656572 };

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

/* What a ledger may say */

/* The names that a laboratory gives: its number, and what mkdtemp(3) or chance has added. */
#define OURS  "steelyard-[0-9]{1,10}-([0-9]+-)?[A-Za-z0-9_]{8}"
#define ABOVE "^(/[^/]+)*/"

static int is_any(const char *path);
static int is_below_groups(const char *path);
static int is_setting(const char *entry);
static int remove_group(char *group);
static int remove_groups(char *tree);
static int put_back(char *entry);
static int run_undo(char *command);

static const struct kind {
	const char *name, *pattern;
	int (*is_placed)(const char *value); /* where a pattern does not say enough */
	int (*undo)(char *value); /* 0, or -1 with errno; NULL if there is nothing to do */
} kinds[] = {
	{ "boot", "^[0-9a-f-]{36}$", is_any, NULL },
	{ "mark", "^[0-9a-f]{32}$", is_any, NULL },
	{ "scratch", ABOVE OURS "$", is_any, NULL },
	{ "nice", "^-?[0-9]{1,2}$", is_any, NULL },
	{ "processors", "^[0-9]{1,5}(,[0-9]{1,5})*$", is_any, NULL },
	{ "group", ABOVE OURS "$", is_below_groups, remove_group },
	{ "groups", ABOVE OURS "$", is_below_groups, remove_groups },
	{ "undo", "^podman\trm\t--force\t--ignore\t--time=0\t" OURS "$", is_any, run_undo },
	{ "set", "^(/proc/sys(/[^/\t]+)+|/sys/kernel/mm/transparent_hugepage/enabled)\t",
	  is_setting, put_back },
};

static int is_any(const char *value)
{
	(void)value;
	return 1;
}

/* A path that names what it seems to name: none of its parts is a step up. */
static int is_straight(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		size_t length = strcspn(++part, "/\t");

		if (length == 0 ||
		    (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'))))
			return 0;
		if (part[length] != '/')
			break;
	}
	return 1;
}

static int is_on(const char *path, long first, long second)
{
	struct statfs disk;

	return statfs(path, &disk) == 0 &&
	       ((long)disk.f_type == first || (long)disk.f_type == second);
}

static int is_below_groups(const char *path)
{
	char above[PATH_MAX];

	if (strlen(path) >= sizeof(above))
		return 0;
	strcpy(above, path);
	return is_on(dirname(above), GROUPS_1, GROUPS_2);
}

/* One that is gone by now (its module, say) was one: that it cannot be put back is said. */
static int is_setting(const char *entry)
{
	char        path[PATH_MAX];
	size_t      length = strcspn(entry, "\t");
	struct stat status;

	if (length >= sizeof(path))
		return 0;
	memcpy(path, entry, length);
	path[length] = 0;
	if (stat(path, &status))
		return 1;
	return S_ISREG(status.st_mode) && is_on(path, PROC, SYSFS);
}

/* The line's kind, with `value` behind its name; NULL for a line that no laboratory writes. */
static const struct kind *kind_of(char *line, char **value)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *kind = &kinds[i];
		regex_t            pattern;
		int                fits;

		*value = said(line, kind->name);
		if (!*value)
			continue;
		if (regcomp(&pattern, kind->pattern, REG_EXTENDED | REG_NOSUB))
			return NULL;
		fits = regexec(&pattern, *value, 0, NULL, 0) == 0;
		regfree(&pattern);
		if (fits && (*value)[0] == '/')
			fits = is_straight(*value);
		return fits && kind->is_placed(*value) ? kind : NULL;
	}
	return NULL;
}

static const char boot_id[] = "/proc/sys/kernel/random/boot_id";

/* Below 0 where the kernel does not tell: then what the ledger says may hold, or not. */
static int is_of_this_boot(const struct ledger *ledger)
{
	char    now[64];
	int     file = open(boot_id, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, now, sizeof(now) - 1);

	if (file >= 0)
		close(file);
	if (got <= 0) {
		errno = got ? errno : ENODATA;
		return -1;
	}
	now[got] = 0;
	now[strcspn(now, "\n")] = 0;
	for (int i = 0; i < ledger->count; i++) {
		char *boot = said(ledger->lines[i], "boot");

		if (boot && !strcmp(boot, now))
			return 1;
	}
	return 0;
}

/* Entering */

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
		char              *value;
		const struct kind *kind = kind_of(ledger.lines[i], &value);

		errno = EINVAL;
		if (!kind)
			status = refused("the ledger's line", ledger.lines[i]);
		else if (!strcmp(kind->name, "group"))
			status = enter_group(value);
		else if (!strcmp(kind->name, "nice"))
			status = enter_nice(value);
		else if (!strcmp(kind->name, "processors"))
			status = enter_processors(value);
	}
	ledger_free(&ledger);
	return status;
}

/* Putting back */

/* Processes that were killed leave their group a moment after they were waited for. */
static int remove_group(char *group)
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

static int remove_groups(char *tree)
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
	int   status;

	*value = 0;
	status = write_file(entry, value + 1);
	*value = '\t';
	return status;
}

/* Runs the command, whose words have tabs between them. Returns 0 if it succeeded. */
static int run_undo(char *command)
{
	enum { WORDS_MOST = 8 };
	char *copy = strdup(command), *rest = copy, *words[WORDS_MOST + 1] = { 0 };
	pid_t child;
	int   status = -1;

	for (int i = 0; rest && i < WORDS_MOST; i++)
		words[i] = strsep(&rest, "\t");
	child = copy ? fork() : -1;
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
	free(copy);
	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	errno = ECANCELED; /* the command's own word is not ours to repeat */
	return status == 0 ? 0 : -1;
}

/* Returns 0, or -1 with errno. A whole line or none is written: who reads it believes nothing
 * else. */
static int ledger_write(int file, const struct ledger *ledger, const char *is_kept)
{
	char  *whole = NULL;
	size_t size = 0;
	FILE  *text = open_memstream(&whole, &size);
	int    status = -1;

	if (!text)
		return -1;
	for (int i = 0; i < ledger->count; i++)
		if (is_kept[i])
			fprintf(text, "%s\n", ledger->lines[i]);
	if (fclose(text) == 0 && pwrite(file, whole, size, 0) == (ssize_t)size)
		status = ftruncate(file, (off_t)size);
	free(whole);
	return status;
}

static void ledger_remove(int file)
{
	char    link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = 0;
	unlink(path);
}

/* Does it all, and tells if there is somebody to tell. Returns how much is left to do. */
static int restore(int file, struct ledger *ledger, FILE *told)
{
	char *is_kept = calloc((size_t)ledger->count + 1, 1);
	int   left = 0;

	if (!is_kept)
		return -1;
	for (int i = ledger->count - 1; i >= 0; i--) {
		char              *value;
		const struct kind *kind = kind_of(ledger->lines[i], &value);
		int                is_done = kind && kind->undo && kind->undo(value) == 0;

		is_kept[i] = (char)!is_done;
		if (kind && !kind->undo)
			continue; /* a fact, which goes with the ledger */
		left += !is_done;
		if (told && is_done)
			fprintf(told, "done\t%s\n", ledger->lines[i]);
		else if (told && kind)
			fprintf(told, "failed\t%s\t%s\n", strerror(errno), ledger->lines[i]);
		else if (told)
			fprintf(told, "unfit\t%s\n", ledger->lines[i]);
	}
	if (left)
		ledger_write(file, ledger, is_kept);
	else
		ledger_remove(file);
	free(is_kept);
	return left;
}

void ledger_put_back(int file)
{
	struct ledger ledger;

	if (ledger_read(file, &ledger))
		return;
	restore(file, &ledger, NULL);
	ledger_free(&ledger);
}

int ledger_verb(int argc, char *argv[])
{
	struct ledger ledger;
	uint64_t      file;
	int           status = 0, is_current;

	if (argc != 2 || parse_number(argv[1], &file) ||
	    (strcmp(argv[0], "read") && strcmp(argv[0], "restore"))) {
		fprintf(stderr, "steelyard-load: ledger read|restore FD\n");
		return 2;
	}
	if (ledger_read((int)file, &ledger))
		return refused("reading", "the ledger") ? 1 : 0;
	is_current = is_of_this_boot(&ledger);
	if (is_current < 0)
		status = refused("whether it is of this boot is unknown:", boot_id) ? 1 : 0;
	else if (!is_current)
		status = OTHER_BOOT;
	else if (!strcmp(argv[0], "restore"))
		restore((int)file, &ledger, stdout);
	else
		for (int i = 0; i < ledger.count; i++) {
			char *value;
			int   fits = kind_of(ledger.lines[i], &value) != NULL;

			printf("%s\t%s\n", fits ? "fits" : "unfit", ledger.lines[i]);
		}
	ledger_free(&ledger);
	return fflush(stdout) ? 1 : status;
}

#else

int ledger_verb(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: ledger works on Linux only\n");
	return 77;
}

#endif
