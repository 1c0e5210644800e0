/* userland.c -- see userland.h. Linux only: namespaces are Linux's.
 *
 * Nothing is made in ROOT itself: it is bound to a directory beside WORK, and what is mounted, is
 * mounted there.
 */
#include "../userland.h"

#include <stdio.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest.h"

enum { CANNOT = 77, PLACE_ROOM = PATH_MAX - 128 /* what is mounted below it has a short name */ };

static int refuse(const char *what, const char *where)
{
	fprintf(stderr, "steelyard-load: %s %s: %s\n", what, where, strerror(errno));
	return -1;
}

struct mounting {
	const char   *from, *type; /* no type: a directory or file that is bound */
	const char   *where;
	unsigned long flags;
	const char   *options;
};

/* Mounts below the new root. */
static int mount_in(const char *root, struct mounting m)
{
	char where[PATH_MAX + 128];

	snprintf(where, sizeof(where), "%s%s", root, m.where);
	if (mount(m.from, where, m.type, m.flags, m.options))
		return refuse("mounting", where);
	return 0;
}

static int bind_in(const char *root, const char *from, const char *where)
{
	return mount_in(root, (struct mounting){ from, NULL, where, MS_BIND | MS_REC, NULL });
}

/* What there is to see of the machine: all of it. */
static int show_machine(const char *root)
{
	return mount_in(root, (struct mounting){ "proc", "proc", "/proc", 0, NULL }) ||
	       bind_in(root, "/sys", "/sys") || bind_in(root, "/dev", "/dev");
}

static int make_device(const char *root, const char *name)
{
	char where[PATH_MAX + 128];
	int  file;

	snprintf(where, sizeof(where), "%s%s", root, name);
	file = open(where, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0)
		return refuse("making", where);
	close(file);
	return bind_in(root, name, name);
}

static int make_link(const char *root, const char *to, const char *name)
{
	char where[PATH_MAX + 128];

	snprintf(where, sizeof(where), "%s%s", root, name);
	return symlink(to, where) ? refuse("making", where) : 0;
}

static int make_directory(const char *root, const char *name)
{
	char where[PATH_MAX + 128];

	snprintf(where, sizeof(where), "%s%s", root, name);
	return mkdir(where, 0755) && errno != EEXIST ? refuse("making", where) : 0;
}

static int make_devices(const char *root)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
		                               "/dev/random", "/dev/urandom", "/dev/tty",
		                               NULL };

	if (mount_in(root, (struct mounting){ "tmpfs", "tmpfs", "/dev", MS_NOSUID, "mode=755" }))
		return -1;
	for (int i = 0; devices[i]; i++)
		if (make_device(root, devices[i]))
			return -1;
	return make_directory(root, "/dev/shm") || make_directory(root, "/dev/pts") ||
	       mount_in(root, (struct mounting){ "tmpfs", "tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV,
	                                         NULL }) ||
	       mount_in(root, (struct mounting){ "devpts", "devpts", "/dev/pts", MS_NOSUID,
	                                         "newinstance,ptmxmode=0666" }) ||
	       make_link(root, "pts/ptmx", "/dev/ptmx") ||
	       make_link(root, "/proc/self/fd", "/dev/fd") ||
	       make_link(root, "/proc/self/fd/0", "/dev/stdin") ||
	       make_link(root, "/proc/self/fd/1", "/dev/stdout") ||
	       make_link(root, "/proc/self/fd/2", "/dev/stderr");
}

/* What a container may see: its own processes and network, and its control groups. */
static int show_container(const char *root)
{
	if (mount_in(root, (struct mounting){ "proc", "proc", "/proc", 0, NULL }) ||
	    mount_in(root, (struct mounting){ "sysfs", "sysfs", "/sys", MS_RDONLY, NULL }) ||
	    make_devices(root))
		return -1;
	if (access("/sys/fs/cgroup", F_OK) == 0)
		return bind_in(root, "/sys/fs/cgroup", "/sys/fs/cgroup");
	return 0;
}

/* Everything is mounted on `place`, an empty directory, which then is the root. */
static int enter(const char *from, const char *work, int is_container)
{
	char place[PLACE_ROOM];

	if (snprintf(place, sizeof(place), "%s.root", work) >= (int)sizeof(place)) {
		errno = ENAMETOOLONG;
		return refuse("using", work);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return refuse("keeping mounts private at", "/");
	if (mkdir(place, 0755) && errno != EEXIST)
		return refuse("making", place);
	if (bind_in("", from, place))
		return -1;
	if (is_container ? show_container(place) : show_machine(place))
		return -1;
	if (bind_in(place, work, "/tmp"))
		return -1;
	if (chroot(place) || chdir("/"))
		return refuse("changing the root to", place);
	return 0;
}

static int become(const char *from, const char *work, char *words[], int is_container)
{
	if (unshare(CLONE_NEWNS))
		return refuse("a mount namespace for", from), CANNOT;
	if (enter(from, work, is_container))
		return CANNOT;
	execv(words[0], words);
	refuse("executing", words[0]);
	return CANNOT;
}

/* The first process of the container: everything that loses its parent there becomes its child, and
 * all ends with it. */
static int first_process(const char *from, const char *work, char *words[])
{
	pid_t program;
	int   status = 0, ended;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getpid() != 1)
		return CANNOT;
	if (sethostname("container", strlen("container")))
		return refuse("naming", "the container"), CANNOT;
	loopback_up();
	program = fork();
	if (program < 0)
		return refuse("fork for", from), CANNOT;
	if (program == 0)
		_exit(become(from, work, words, 1));
	/* The streams are the program's alone. */
	ended = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(ended, 0);
	dup2(ended, 1);
	while (program > 0) {
		pid_t one = wait(&status);

		if (one == program || (one < 0 && errno != EINTR))
			break;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int contain(const char *from, const char *work, char *words[])
{
	pid_t first;
	int   status = 0, null_file;

	if (unshare(CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET))
		return refuse("namespaces for", from), CANNOT;
	first = fork();
	if (first < 0)
		return refuse("fork for", from), CANNOT;
	if (first == 0)
		_exit(first_process(from, work, words));
	null_file = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null_file, 0);
	dup2(null_file, 1);
	while (waitpid(first, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int userland(int argc, char *argv[])
{
	if (argc < 4 || (strcmp(argv[0], "chroot") && strcmp(argv[0], "container"))) {
		fprintf(stderr,
		        "steelyard-load: userland chroot|container ROOT WORK PROGRAM ...\n");
		return 2;
	}
	if (!strcmp(argv[0], "container"))
		return contain(argv[1], argv[2], argv + 3);
	return become(argv[1], argv[2], argv + 3, 0);
}

#else

int userland(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: userland works on Linux only\n");
	return 77;
}

#endif
