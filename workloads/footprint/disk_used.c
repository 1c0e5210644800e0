/* disk_used -- how much of its disk this system takes.
 *
 * Measures     the room of all files and directories below the root (or below `below`), once a
 *              trial, as du -x adds it up: what is allocated, a file with several names once, and
 *              no other file systems that are mounted there.
 * Leaves out   the trial's own directory, and those beside it. What the file system itself takes,
 *              such as a journal. Memory (memory_used).
 * Beware       a system whose root is this machine's (native, gvisor) is measured with all that is
 *              on it. A root of a million files takes a minute when it is read for the first time.
 *              A directory that this user may not read ends the trial as unsupported. Files that
 *              come and go meanwhile are counted or not. A file system that compresses or shares
 *              blocks takes less than that.
 * After        Korunić (SRCE, 2003), who quotes the manuals: 110 MB for Debian 3.0, 1 GB for
 *              Solaris 8.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../api/workload.h"

enum { PATH_ROOM = 256, LINKED_LEAST = 1024, DEPTH_MOST = 512 };

static char     below[PATH_ROOM] = "/";
static uint64_t used_kb, blocks; /* the latter: of 512 bytes */

/* The files with several names that were met already, in a table without deletions. */
struct linked {
	dev_t device;
	ino_t number; /* 0: none */
};
static struct linked *table;
static size_t         table_size, table_used;

static struct {
	dev_t device;      /* of the root's file system */
	dev_t agent;       /* of the directory that all trials' are in, and its number */
	ino_t agent_inode; /* 0: it is not left out */
} s;

static struct linked *place_of(struct linked *of, size_t size, struct linked file)
{
	uint64_t hash = ((uint64_t)file.number ^ (uint64_t)file.device << 40) * 0x9e3779b97f4a7c15u;
	size_t   at = (size_t)(hash >> 20) % size;

	while (of[at].number && (of[at].number != file.number || of[at].device != file.device))
		at = (at + 1) % size;
	return &of[at];
}

static int grow_table(void)
{
	size_t         size = table_size ? 2 * table_size : LINKED_LEAST;
	struct linked *grown = calloc(size, sizeof(*grown));

	if (!grown)
		return fail("calloc");
	for (size_t i = 0; i < table_size; i++)
		if (table[i].number)
			*place_of(grown, size, table[i]) = table[i];
	free(table);
	table = grown;
	table_size = size;
	return 0;
}

/* Adds the file's blocks, unless they were added by another name. */
static int add_file(const struct stat *about)
{
	struct linked  file = { .device = about->st_dev, .number = about->st_ino };
	struct linked *place;

	if (!S_ISDIR(about->st_mode) && about->st_nlink > 1 && file.number) {
		if (2 * table_used >= table_size && grow_table())
			return OUTCOME_FAILED;
		place = place_of(table, table_size, file);
		if (place->number)
			return 0;
		*place = file;
		table_used++;
	}
	blocks += (uint64_t)about->st_blocks;
	return 0;
}

static int add_directory(int directory, int depth);

/* A directory of this file system that is not the agent's. */
static int enter(int parent, const char *name, const struct stat *about, int depth)
{
	int directory;

	if (about->st_dev != s.device ||
	    (about->st_ino == s.agent_inode && about->st_dev == s.agent))
		return 0;
	if (depth == DEPTH_MOST)
		return unsupported("directories lie more than %d deep", DEPTH_MOST);
	directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0 && errno == ENOENT)
		return 0;
	if (directory < 0 && (errno == EACCES || errno == EPERM))
		return unsupported("this user may not read a directory '%s' below %s", name, below);
	return directory < 0 ? fail("opening a directory") : add_directory(directory, depth + 1);
}

static int add_entry(int parent, const char *name, int depth)
{
	struct stat about;
	int         outcome;

	if (fstatat(parent, name, &about, AT_SYMLINK_NOFOLLOW)) {
		if (errno == EACCES || errno == EPERM)
			return unsupported("this user may not look at a file '%s' below %s", name,
			                   below);
		return errno == ENOENT ? 0 : fail("fstatat");
	}
	if (S_ISDIR(about.st_mode) && (outcome = enter(parent, name, &about, depth)))
		return outcome;
	return S_ISDIR(about.st_mode) && about.st_dev != s.device ? 0 : add_file(&about);
}

/* Adds what is in the directory, and closes it. */
static int add_directory(int directory, int depth)
{
	DIR           *entries = fdopendir(directory);
	struct dirent *entry;
	int            outcome = 0;

	if (!entries) {
		close(directory);
		return fail("fdopendir");
	}
	for (errno = 0; !outcome && (entry = readdir(entries)); errno = 0)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			outcome = add_entry(directory, entry->d_name, depth);
	if (!outcome && errno)
		outcome = fail("readdir");
	closedir(entries);
	return outcome;
}

/* The directory that the trial's is in, whatever else the agent has there. */
static int leave_agent_out(void)
{
	struct stat about;
	char        path[4096];

	snprintf(path, sizeof(path), "%s/..", trial_directory());
	if (stat(path, &about))
		return fail("stat");
	s.agent = about.st_dev;
	s.agent_inode = about.st_ino;
	return 0;
}

/* A relative path is one within the trial's directory. */
static int setup(void)
{
	return chdir(trial_directory()) ? fail("chdir") : 0;
}

static int run(uint64_t operations)
{
	struct stat root;
	int         directory, outcome;

	(void)operations; /* one reading */
	blocks = 0;
	directory = open(below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return fail("opening the root");
	if (fstat(directory, &root) || leave_agent_out()) {
		close(directory);
		return fail("stat");
	}
	s.device = root.st_dev;
	blocks += (uint64_t)root.st_blocks;
	outcome = add_directory(directory, 0);
	used_kb = blocks / 2;
	if (!outcome && !used_kb)
		outcome = unsupported("this file system does not say what its files take");
	return outcome;
}

static void teardown(void)
{
	free(table);
}

static const struct parameter parameters[] = {
	STRING("below", "the directory that is added up", below, PATH_ROOM - 1),
	{ 0 },
};

const struct workload workload_disk_used = {
	.name = "disk_used",
	.group = "footprint",
	.summary = "how much of its disk this system takes",
	.operation = "reading",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.performances = 1,
	.count = &used_kb,
	.counts = "kB",
	.fewer = 1,
};
