/* guest.c -- see guest.h. Linux only: elsewhere no kernel is booted for the purpose. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <termios.h>
#include <unistd.h>

static void loopback_up(void)
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

static void swap_to(const char *device)
{
	if (swapon(device, 0)) {
		fprintf(stderr, "steelyard-load: swapping to %s: %s\n", device, strerror(errno));
		guest_end();
	}
	is_paging = 1;
}

int guest_pages(void)
{
	return is_paging;
}

void guest_begin(void)
{
	const char *device = getenv("STEELYARD_STREAM"), *swap = getenv("STEELYARD_SWAP");

	mount_one("proc", "/proc");
	mount_one("sysfs", "/sys");
	mount_one("devtmpfs", "/dev");
	loopback_up();
	signal(SIGCHLD, SIG_DFL);
	if (device && open_stream(device)) {
		fprintf(stderr, "steelyard-load: %s: %s\n", device, strerror(errno));
		guest_end();
	}
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

void guest_end(void)
{
	exit(0);
}

#endif

void guest_pass_on(const char *environment[], int room)
{
	static const char *const names[] = {
		"STEELYARD_LIMITED", /* this system's memory or processes are limited: it may exhaust them */
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
