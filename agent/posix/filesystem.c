/* filesystem.c -- see filesystem.h. Linux only: loop devices and namespaces are Linux's.
 *
 * Wherever this is killed, nothing stays: the image has no name, the loop device clears itself when
 * the last who has it open is gone (LO_FLAGS_AUTOCLEAR), and the mount is in a namespace of its
 * own.
 */
#include "../filesystem.h"

#include <stdio.h>

#ifdef __linux__
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/numbers.h"

enum { CANNOT = 77, WORDS_MOST = 62, TRIES = 64 };

/* linux/loop.h, which not every C library comes with */
enum { LOOP_CONFIGURE = 0x4C0A, LOOP_CTL_GET_FREE = 0x4C82, AUTOCLEAR = 4, DIRECT_IO = 16 };

struct loop_information {
	uint64_t device, inode, backing_device, offset, limit;
	uint32_t number, encryption, key_size, flags;
	uint8_t  file_name[64], encryption_name[64], key[32];
	uint64_t initial[2];
};

struct loop_configuration {
	uint32_t                file, block_size;
	struct loop_information information;
	uint64_t                reserved[8];
};

struct wish {
	const char *work, *type, *options, *images, *device;
	uint64_t    size, aged;
	char       *make[WORDS_MOST + 2];
	int         make_count;
	char      **command;
};

static int refuse(const char *what, const char *where)
{
	fprintf(stderr, "steelyard-load: %s %s: %s\n", what, where, strerror(errno));
	return -1;
}

static int read_words(char *argv[], struct wish *wish)
{
	wish->work = *argv++;
	for (; *argv && strcmp(*argv, "--"); argv++) {
		char *value = strchr(*argv, '=');

		if (!value)
			return -1;
		*value++ = 0;
		if (!strcmp(*argv, "type"))
			wish->type = value;
		else if (!strcmp(*argv, "options"))
			wish->options = value;
		else if (!strcmp(*argv, "images"))
			wish->images = value;
		else if (!strcmp(*argv, "device"))
			wish->device = value;
		else if (!strcmp(*argv, "make") && wish->make_count < WORDS_MOST)
			wish->make[wish->make_count++] = value;
		else if (!strcmp(*argv, "size") && !parse_number(value, &wish->size))
			continue;
		else if (strcmp(*argv, "aged") || parse_number(value, &wish->aged))
			return -1;
	}
	if (!*argv || !argv[1] || !wish->type)
		return -1;
	wish->command = argv + 1;
	return 0;
}

/* Allocates them all, so that a disk that is full is full now; and asks before, because a disk that
 * others write to must not be full for even a moment. Returns 0 or an errno. */
static int allocate(int image, uint64_t size)
{
	struct statvfs disk;

	if (fstatvfs(image, &disk))
		return errno;
	if (disk.f_bavail * disk.f_frsize < size)
		return ENOSPC;
	return posix_fallocate(image, 0, (off_t)size);
}

/* A file without a name. */
static int make_image(const struct wish *wish)
{
	int image = open(wish->images, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), failure;

	if (image < 0)
		return refuse("making a file without a name in", wish->images);
	failure = allocate(image, wish->size);
	if (failure) {
		errno = failure;
		fprintf(stderr, "steelyard-load: making an image of %llu bytes in %s: %s\n",
		        (unsigned long long)wish->size, wish->images, strerror(errno));
		close(image);
		return -1;
	}
	return image;
}

/* Attaches the image to a free loop device. Returns the device, open; it is cleared when that is
 * closed and nothing is mounted from it. */
static int attach(int image, char path[PATH_MAX])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), loop = -1;

	if (control < 0)
		return refuse("opening", "/dev/loop-control");
	for (int tries = 0; tries < TRIES && loop < 0; tries++) {
		struct loop_configuration wanted = { .file = (uint32_t)image,
			                             .information.flags = AUTOCLEAR | DIRECT_IO };
		int                       number = ioctl(control, LOOP_CTL_GET_FREE), done;

		if (number < 0) {
			refuse("finding a free loop device by", "/dev/loop-control");
			break;
		}
		snprintf(path, PATH_MAX, "/dev/loop%d", number);
		loop = open(path, O_RDWR | O_CLOEXEC);
		if (loop < 0) {
			refuse("opening", path);
			break;
		}
		done = ioctl(loop, LOOP_CONFIGURE, &wanted);
		if (done && errno == EINVAL) { /* where the image lies, nothing is read directly */
			wanted.information.flags = AUTOCLEAR;
			done = ioctl(loop, LOOP_CONFIGURE, &wanted);
		}
		if (done) {
			int failure = errno;

			close(loop);
			loop = -1;
			errno = failure;
			if (failure != EBUSY) { /* else somebody was quicker */
				refuse("attaching an image to", path);
				break;
			}
		}
	}
	close(control);
	return loop;
}

/* Reads the pipe to its end, and keeps the first line that is not empty. */
static void listen_to(int from, char *line, size_t room)
{
	char    piece[512];
	size_t  kept = 0;
	int     is_over = 0;
	ssize_t got;

	while ((got = read(from, piece, sizeof(piece))) > 0 || (got < 0 && errno == EINTR))
		for (ssize_t i = 0; i < got; i++) {
			is_over = is_over || (kept && piece[i] == '\n') || kept + 1 == room;
			if (!is_over && piece[i] != '\n')
				line[kept++] = piece[i];
		}
	line[kept] = 0;
}

/* Runs it. Returns 0 if it succeeded; else its first words, which are the reason, are on standard
 * error: usage follows them, or advice. */
static int run(char *const words[])
{
	char  said[400];
	int   pipes[2], status;
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return refuse("a pipe for", words[0]);
	child = fork();
	if (child == 0) {
		int nothing = open("/dev/null", O_RDWR);

		dup2(nothing, 0);
		dup2(nothing, 1);
		dup2(pipes[1], 2);
		execvp(words[0], words);
		refuse("executing", words[0]);
		_exit(127);
	}
	close(pipes[1]);
	if (child > 0)
		listen_to(pipes[0], said, sizeof(said));
	close(pipes[0]);
	if (child < 0)
		return refuse("fork for", words[0]);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return refuse("waiting for", words[0]);
	if (status == 0)
		return 0;
	fprintf(stderr, "steelyard-load: %s failed: %s\n", words[0], said);
	return -1;
}

/* Refused where somebody else uses the device, as mounting it does. */
static int look_at_device(struct wish *wish)
{
	int   file = open(wish->device, O_RDWR | O_EXCL | O_CLOEXEC);
	off_t end;

	if (file < 0)
		return refuse("using", wish->device);
	end = lseek(file, 0, SEEK_END);
	wish->size = end > 0 ? (uint64_t)end : 0;
	close(file);
	return 0;
}

/* Mounts the file system at `new`, of this directory. */
static int mount_it(const struct wish *wish, const char *source)
{
	char  words[][8] = { "mount", "-n", "-t", "-o" }, where[] = "new";
	char  type[64], options[4096], from[PATH_MAX];
	char *command[] = {
		words[0], words[1], words[2], type, words[3], options, from, where, NULL
	};
	int is_overlay = !strcmp(wish->type, "overlay"), is_memory = !strcmp(wish->type, "tmpfs");

	snprintf(type, sizeof(type), "%s", wish->type);
	snprintf(from, sizeof(from), "%s", source);
	snprintf(options, sizeof(options), "%s%s", wish->options ? wish->options : "rw",
	         is_overlay ? ",lowerdir=lower,upperdir=upper,workdir=work" : "");
	if (is_memory && wish->size)
		snprintf(options + strlen(options), sizeof(options) - strlen(options), ",size=%llu",
		         (unsigned long long)wish->size);
	return run(command);
}

static int make_and_mount(struct wish *wish)
{
	char path[PATH_MAX];
	int  loop = -1, status = -1;

	if (!wish->make_count)
		return mount_it(wish, wish->type);
	if (wish->device) {
		if (look_at_device(wish))
			return -1;
		snprintf(path, sizeof(path), "%s", wish->device);
	} else {
		int image = make_image(wish);

		loop = image < 0 ? -1 : attach(image, path);
		if (image >= 0)
			close(image);
		if (loop < 0)
			return -1;
	}
	wish->make[wish->make_count] = path;
	if (run(wish->make) == 0)
		status = mount_it(wish, path);
	if (loop >= 0)
		close(loop); /* the mount holds it from now on */
	return status;
}

/* Copies what was prepared in the working directory, but this file system's own. */
static int copy_prepared(const char *work)
{
	char           words[][6] = { "cp", "-a", "-t", "--" }, to[] = "new/files";
	char          *command[WORDS_MOST + 2] = { words[0], words[1], words[2], to, words[3] };
	char           names[WORDS_MOST][NAME_MAX + 4];
	int            count = 5;
	DIR           *files = opendir(work);
	struct dirent *entry;

	while (files && count < WORDS_MOST && (entry = readdir(files))) {
		if (*entry->d_name == '.') /* our own, and the laboratory's */
			continue;
		snprintf(names[count], sizeof(names[count]), "../%s", entry->d_name);
		command[count] = names[count];
		count++;
	}
	if (!files)
		return refuse("reading", work);
	closedir(files);
	return count > 5 ? run(command) : 0;
}

/* Old files, and a directory like the working one, which is then seen in its place: what else is at
 * the top of a file system is not. */
static int furnish(const struct wish *wish)
{
	struct stat like;

	if (stat(wish->work, &like) || mkdir("new/files", 0700) ||
	    chown("new/files", like.st_uid, like.st_gid) ||
	    chmod("new/files", like.st_mode & 07777))
		return refuse("making a directory for", wish->work);
	if (wish->aged &&
	    (mkdir("new/aged", 0700) || filesystem_age("new/aged", wish->size, wish->aged)))
		return refuse("aging the file system for", wish->work);
	return copy_prepared(wish->work);
}

static int enter(struct wish *wish)
{
	static const char *const own = ".filesystem";
	static const char *const parts[] = { "new", "view", "lower", "upper", "work", NULL };
	int                      before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return refuse("a mount namespace for", wish->work);
	if (chdir(wish->work) || mkdir(own, 0700) || chdir(own))
		return refuse("making a directory in", wish->work);
	for (int i = 0; parts[i]; i++)
		if (mkdir(parts[i], 0755))
			return refuse("making a directory in", wish->work);
	if (make_and_mount(wish) || furnish(wish))
		return -1;
	if (mount("new/files", "view", NULL, MS_BIND, NULL) || umount2("new", MNT_DETACH) ||
	    mount("view", wish->work, NULL, MS_MOVE, NULL))
		return refuse("mounting over", wish->work);
	if (before >= 0 && fchdir(before))
		return refuse("going back from", wish->work);
	return 0;
}

int filesystem(int argc, char *argv[])
{
	struct wish wish = { 0 };

	if (argc < 4 || read_words(argv, &wish)) {
		fprintf(stderr, "steelyard-load: filesystem WORK NAME=VALUE ... -- COMMAND ...\n");
		return 2;
	}
	if (enter(&wish))
		return CANNOT;
	execvp(wish.command[0], wish.command);
	refuse("executing", wish.command[0]);
	return CANNOT;
}

#else

int filesystem(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: file systems are made on Linux only\n");
	return 77;
}

#endif
