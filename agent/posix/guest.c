/* guest.c -- see guest.h. Linux only: elsewhere no kernel is booted for the purpose. */
#include "../guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int guest_is(void)
{
	return getpid() == 1 && getenv("STEELYARD_STREAM");
}

#ifdef __linux__
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <termios.h>

void loopback_up(void)
{
	struct ifreq request = { .ifr_flags = IFF_UP | IFF_RUNNING };
	int          socket_file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(request.ifr_name, "lo");
	if (socket_file < 0 || ioctl(socket_file, SIOCSIFFLAGS, &request))
		perror("steelyard-load: loopback");
	if (socket_file >= 0)
		close(socket_file);
}

/* A mount that is there already (EBUSY) is as good. */
static void mount_one(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) && errno != EBUSY)
		fprintf(stderr, "steelyard-load: mounting %s: %s\n", where, strerror(errno));
}

/* A terminal would echo requests, and turn the newlines of records into two characters. */
static int open_stream(const char *device)
{
	struct termios terminal;
	int            file = open(device, O_RDWR | O_NOCTTY);

	if (file < 0)
		return -1;
	if (tcgetattr(file, &terminal) == 0) {
		cfmakeraw(&terminal);
		tcsetattr(file, TCSANOW, &terminal);
	}
	return dup2(file, 0) < 0 || dup2(file, 1) < 0 ? -1 : 0;
}

static int is_paging;

int guest_pages(void)
{
	return is_paging;
}

/* Whether there is nothing but what the kernel was started with, in memory: an initramfs. */
static int is_initramfs(void)
{
	const uint32_t ramfs = 0x858458f6, tmpfs = 0x01021994; /* statfs(2) */
	struct statfs  root;

	return statfs("/", &root) == 0 &&
	       ((uint32_t)root.f_type == ramfs || (uint32_t)root.f_type == tmpfs);
}

/* Memory without a limit would be a file system that takes the guest down when it is full. */
static void mount_in_memory(void)
{
	static const char *const places[] = { "/tmp", "/run", "/dev/shm", NULL };

	for (int i = 0; places[i]; i++)
		mount_one("tmpfs", places[i]);
	mount_one("devpts", "/dev/pts");
}

/* Loads what /modules holds, in the order of the names. */
static void load_modules(void)
{
	struct dirent **names;
	int             count = scandir("/modules", &names, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		int  file;

		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
		file = open(path, O_RDONLY | O_CLOEXEC);
		if (syscall(SYS_finit_module, file, "", 0) && errno != EEXIST)
			fprintf(stderr, "steelyard-load: %s: %s\n", path, strerror(errno));
		if (file >= 0)
			close(file);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

enum { DEVICE_TRIES = 1000 };

/* A driver finds its disk some time after it was loaded. */
static void await_device(const char *device)
{
	for (int tries = 0; tries < DEVICE_TRIES && access(device, F_OK); tries++)
		usleep(10000);
}

const char *guest_directory(void)
{
	const char *disk = getenv("STEELYARD_DISK"), *directory = getenv("STEELYARD_DIRECTORY");

	if (disk)
		return "/disk";
	return directory ? directory : "/tmp";
}

static void mount_disk(const char *device)
{
	await_device(device);
	if (mount(device, guest_directory(), "ext4", 0, NULL)) {
		fprintf(stderr, "steelyard-load: mounting %s: %s\n", device, strerror(errno));
		guest_end();
	}
}

static void swap_to(const char *device)
{
	await_device(device);
	if (swapon(device, 0)) {
		fprintf(stderr, "steelyard-load: swapping to %s: %s\n", device, strerror(errno));
		guest_end();
	}
	is_paging = 1;
}

void guest_begin(void)
{
	const char *device = getenv("STEELYARD_STREAM"), *swap = getenv("STEELYARD_SWAP");
	const char *disk = getenv("STEELYARD_DISK");

	mount_one("proc", "/proc");
	mount_one("sysfs", "/sys");
	mount_one("devtmpfs", "/dev");
	if (is_initramfs()) {
		mount_in_memory();
		load_modules();
	}
	loopback_up();
	signal(SIGCHLD, SIG_DFL);
	if (device && open_stream(device)) {
		fprintf(stderr, "steelyard-load: %s: %s\n", device, strerror(errno));
		guest_end();
	}
	if (disk)
		mount_disk(disk);
	if (swap)
		swap_to(swap);
}

void guest_end(void)
{
	sync();
	reboot(RB_POWER_OFF);
	exit(1);
}

#else

void guest_begin(void)
{
	fprintf(stderr, "steelyard-load: can be a guest's init on Linux only\n");
	exit(77);
}

int guest_pages(void)
{
	return 0;
}

void loopback_up(void)
{
}

const char *guest_directory(void)
{
	return "/tmp";
}

void guest_end(void)
{
	exit(0);
}

#endif

void guest_pass_on(const char *environment[], int room)
{
	static const char *const names[] = {
		"STEELYARD_LIMITED",  /* this system's memory or processes are limited: it may
		                         exhaust them */
		"STEELYARD_EMULATOR", /* the program starts itself again by it */
	};
	enum { NAMES = sizeof(names) / sizeof(*names) };
	static char entries[NAMES][512];
	int         count = 0;

	if (guest_pages() && count < room - 1)
		environment[count++] = "STEELYARD_PAGING=1";
	for (int i = 0; i < NAMES && count < room - 1; i++) {
		const char *value = getenv(names[i]);

		if (!value)
			continue;
		snprintf(entries[i], sizeof(entries[i]), "%s=%s", names[i], value);
		environment[count++] = entries[i];
	}
	environment[count] = NULL;
}
