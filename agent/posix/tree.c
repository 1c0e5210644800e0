/* tree.c -- see ../tree.h. */
#include "../tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "../../workloads/api/system.h"
#include "../../workloads/api/workload.h"

static const char *path = "/proc/self/exe";

void self_path_set(const char *argv0)
{
	const char *under[UNDER_MOST + 1], *own;

	if (self_emulator() || access(path, X_OK)) /* an emulator's /proc/self/exe is the
	                                              emulator */
		path = argv0;
	else if (self_under(under) && (own = realpath(path, NULL))) /* a monitor's would be the
	                                                               monitor */
		path = own;
}

const char *self_emulator(void)
{
	const char *emulator = getenv("STEELYARD_EMULATOR");

	return emulator && *emulator ? emulator : NULL;
}

size_t self_under(const char *words[UNDER_MOST + 1])
{
	static char text[8192];
	const char *given = getenv("STEELYARD_UNDER");
	char       *rest = text, *word;
	size_t      count = 0;

	snprintf(text, sizeof(text), "%s", given ? given : "");
	while (count < UNDER_MOST && (word = strtok_r(rest, "\n", &rest)))
		words[count++] = word;
	words[count] = NULL;
	return count;
}

int refuse_emulator(void)
{
	return self_emulator() ? unsupported("what it executes would not run under the emulator")
	                       : 0;
}

const char *self_path(void)
{
	return path;
}

enum { DEPTH_MOST = 100, PASSES_MOST = 100 };

/* What is removed: on one file system, below a directory that is held open. */
struct removal {
	int      top;
	dev_t    device;
	unsigned moved;
};

static int empty_directory(struct removal *removal, int directory, int depth);

/* Returns whether the entry is gone. Another user may own the directory and change it meanwhile:
 * names are looked up in the directory that is open, and no link is followed. */
static int remove_entry(struct removal *removal, int directory, const char *name, int depth)
{
	struct stat status;
	char        moved[32];
	int         below, gone = 0;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    status.st_dev != removal->device)
		return 0;
	if (!S_ISDIR(status.st_mode))
		return !unlinkat(directory, name, 0);
	if (depth == DEPTH_MOST) { /* too deep to hold all directories open: its turn comes at the
		                      top */
		snprintf(moved, sizeof(moved), ".moved-%u", removal->moved++);
		return !renameat(directory, name, removal->top, moved);
	}
	below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0 || (!fstat(below, &status) && status.st_dev != removal->device)) {
		if (below >= 0)
			close(below);
		return 0;
	}
	for (int pass = 0; pass < PASSES_MOST && !gone; pass++) {
		int removed = empty_directory(removal, below, depth + 1);

		gone = !unlinkat(directory, name, AT_REMOVEDIR);
		if (!removed)
			break;
	}
	close(below);
	return gone;
}

/* Goes through it once, for some systems skip entries of a directory that becomes smaller. Returns
 * how many entries are gone: where that is none, what is left cannot be removed. */
static int empty_directory(struct removal *removal, int directory, int depth)
{
	int  own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), removed = 0;
	DIR *entries = own < 0 ? NULL : fdopendir(own);
	struct dirent *entry;

	if (!entries && own >= 0)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			removed += remove_entry(removal, directory, entry->d_name, depth);
	if (entries)
		closedir(entries);
	return removed;
}

void tree_remove(const char *directory)
{
	struct removal removal = { .top = open(directory,
		                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) };
	struct stat    status;

	if (removal.top < 0)
		return;
	if (!fstat(removal.top, &status)) {
		removal.device = status.st_dev;
		for (int pass = 0; pass < PASSES_MOST; pass++)
			if (!empty_directory(&removal, removal.top, 0) || !rmdir(directory))
				break;
	}
	close(removal.top);
	rmdir(directory);
}

#ifdef CLONE_UNTRACED

static struct {
	pid_t pid;
	int   ours; /* closes with this process, however that ends */
} watcher = { .pid = -1, .ours = -1 };

enum { TRIES_MOST = 200, PAUSE_NS = 50000000 };

/* The watcher: what this process leaves ends a moment after it, and may still make files. */
static void remove_after_end(int theirs, const char *directory)
{
	const struct timespec pause = { 0, PAUSE_NS };
	int                   nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	char                  byte;

	for (int stream = 0; stream < 3; stream++) /* their reader waits for this process's
	                                              end alone */
		if (nothing < 0 || dup2(nothing, stream) < 0)
			close(stream);
	while (read(theirs, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < TRIES_MOST && !access(directory, F_OK); i++) {
		if (i)
			nanosleep(&pause, NULL);
		tree_remove(directory);
	}
	_exit(0);
}

/* A debugger that follows what is forked first shall come to the trial, and a tracer of ours count
 * nothing of this: so it is a fork by the flag that hides it from both. */
void tree_removed_if_killed(const char *directory)
{
	sigset_t all, before;
	int      ends[2];

	if (pipe_make_private(ends))
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before); /* as they stay in the watcher */
	watcher.pid = (pid_t)syscall(SYS_clone, (long)(CLONE_UNTRACED | SIGCHLD), 0L, 0L, 0L, 0L);
	if (watcher.pid == 0) {
		close(ends[1]);
		remove_after_end(ends[0], directory);
	}
	if (watcher.pid > 0)
		setpgid(watcher.pid, watcher.pid); /* what is sent to all of our group is not for
		                                      it */
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	watcher.ours = ends[1];
}

void tree_removed(void)
{
	/* Not told to go: what we have forked besides, such as a far end, may hold our end of its
	 * pipe as well. */
	if (watcher.pid > 0)
		kill(watcher.pid, SIGKILL);
	close(watcher.ours);
	while (watcher.pid > 0 && waitpid(watcher.pid, NULL, 0) < 0 && errno == EINTR)
		;
	watcher.pid = watcher.ours = -1;
}

#else

void tree_removed_if_killed(const char *directory)
{
	(void)directory;
}

void tree_removed(void)
{
}

#endif
