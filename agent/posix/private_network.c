/* private_network.c -- see workloads/api/private_network.h. */
#include "../../workloads/api/private_network.h"

#include "../../base/list.h"
#include "../../workloads/api/workload.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUE_MOST = 4096, SETTINGS_MOST = 16384, DEPTH_MOST = 8, PASSES = 2 };

/* Why there is no private network, once one was refused. */
static char refusal[256];

static int refused(const char *what)
{
	snprintf(refusal, sizeof(refusal), "%s: %s", what, strerror(errno));
	return -1;
}

/* The settings of a network that may be written, as they were read. */
struct settings {
	struct setting {
		char *path, *value;
	}     *all;
	size_t count, room;
};

/* ---- Settings ---- */

/* Returns the length; -1 where there is no such file, or it may not be read. */
static ssize_t read_value(const char *path, char value[VALUE_MOST])
{
	int     file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (file < 0)
		return -1;
	got = read(file, value, VALUE_MOST - 1);
	close(file);
	if (got >= 0)
		value[got] = 0;
	return got;
}

static int write_value(const char *path, const char *value)
{
	int     file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (file < 0)
		return -1;
	put = write(file, value, strlen(value));
	return close(file) || put != (ssize_t)strlen(value) ? -1 : 0;
}

static int keep_value(struct settings *settings, const char *path)
{
	char            value[VALUE_MOST];
	struct setting *more;
	ssize_t         length = read_value(path, value);

	if (length < 0)
		return 0; /* an order such as route/flush, or a value that was never set */
	if (settings->count == SETTINGS_MOST || length == VALUE_MOST - 1)
		return -1;
	more = list_room(settings->all, settings->count, &settings->room, sizeof(*more));
	if (!more)
		return -1;
	settings->all = more;
	more += settings->count;
	*more = (struct setting){ .path = strdup(path), .value = strdup(value) };
	if (!more->path || !more->value)
		return -1;
	settings->count++;
	return 0;
}

/* Of folders with a folder for each interface, only those are of interest that every network has.
 * Who may ping is said in numbers of groups, which a user namespace does not have. */
static int is_not_copied(const char *folder, const char *name)
{
	const char *last = strrchr(folder, '/');

	if (!strcmp(name, "ping_group_range"))
		return 1;
	return last && (!strcmp(last, "/conf") || !strcmp(last, "/neigh")) && strcmp(name, "all") &&
	       strcmp(name, "default") && strcmp(name, "lo");
}

static int read_settings(struct settings *settings, const char *folder, int depth)
{
	DIR           *entries = opendir(folder);
	struct dirent *entry;
	int            bad = 0;

	while (entries && !bad && (entry = readdir(entries))) {
		char        path[PATH_MAX];
		struct stat status;

		if (entry->d_name[0] == '.' || is_not_copied(folder, entry->d_name) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
		            (int)sizeof(path) ||
		    stat(path, &status))
			continue;
		if (S_ISDIR(status.st_mode))
			bad = depth < DEPTH_MOST ? read_settings(settings, path, depth + 1) : -1;
		else if (status.st_mode & S_IWUSR)
			bad = keep_value(settings, path);
	}
	if (entries)
		closedir(entries);
	return bad;
}

/* A setting that this network does not have is the whole machine's, and holds here anyway. */
static int differs(const struct setting *setting)
{
	char value[VALUE_MOST];

	return read_value(setting->path, value) >= 0 && strcmp(value, setting->value) != 0;
}

/* Some may be set only after others, and some set others. */
static int set_all(const struct settings *settings)
{
	int left = 1;

	for (int pass = 0; pass < PASSES && left; pass++) {
		left = 0;
		for (size_t i = 0; i < settings->count; i++)
			if (differs(&settings->all[i])) {
				write_value(settings->all[i].path, settings->all[i].value);
				left = 1;
			}
	}
	for (size_t i = 0; i < settings->count && left; i++)
		if (differs(&settings->all[i])) {
			snprintf(refusal, sizeof(refusal),
			         "%s cannot be set there as it is set on this machine",
			         settings->all[i].path);
			return -1;
		}
	return 0;
}

static void forget(struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->all[i].path);
		free(settings->all[i].value);
	}
	free(settings->all);
}

/* ---- The loopback interface ---- */

/* What ioctl(2) is asked of it, by netdevice(7). */
static int ask(unsigned long what, struct ifreq *request)
{
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), status;

	if (file < 0)
		return -1;
	strcpy(request->ifr_name, "lo");
	status = ioctl(file, what, request);
	close(file);
	return status;
}

/* Not every kernel lets its state be set: gVisor makes one that is up. */
static int raise_loopback(int mtu)
{
	struct ifreq size = { .ifr_mtu = mtu }, found = { 0 }, state = { 0 };
	struct ifreq up = { .ifr_flags = IFF_UP | IFF_RUNNING };

	if (ask(SIOCGIFMTU, &found) || (found.ifr_mtu != mtu && ask(SIOCSIFMTU, &size)))
		return refused("the MTU of lo");
	if (!ask(SIOCGIFFLAGS, &state) && (state.ifr_flags & IFF_UP))
		return 0;
	return ask(SIOCSIFFLAGS, &up) ? refused("setting lo up") : 0;
}

/* Whether a connection can be made there. */
static int is_usable(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t          length = sizeof(address);
	int                listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int                one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), usable;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	usable = listener >= 0 && one >= 0 &&
	         !bind(listener, (struct sockaddr *)&address, length) && !listen(listener, 1) &&
	         !getsockname(listener, (struct sockaddr *)&address, &length) &&
	         !connect(one, (struct sockaddr *)&address, length);
	if (listener >= 0)
		close(listener);
	if (one >= 0)
		close(one);
	return usable;
}

/* ---- Namespaces ---- */

/* What this machine's network is like. */
struct network {
	struct settings settings;
	int             mtu; /* of lo */
};

static int furnish(const struct network *network)
{
	if (raise_loopback(network->mtu) || set_all(&network->settings))
		return -1;
	return is_usable() ? 0 : refused("a connection through lo");
}

static int enter_network(const struct network *network)
{
	return unshare(CLONE_NEWNET) ? refused("unshare") : furnish(network);
}

/* A user namespace in which this process is who it was, and every other user is "nobody". */
static int enter_users(void)
{
	char user[64], group[64];

	snprintf(user, sizeof(user), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(group, sizeof(group), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
	return unshare(CLONE_NEWUSER) || write_value("/proc/self/setgroups", "deny") ||
	                       write_value("/proc/self/uid_map", user) ||
	                       write_value("/proc/self/gid_map", group)
	               ? refused("a user namespace")
	               : 0;
}

static int enter_both(const struct network *network)
{
	return enter_users() ? -1 : enter_network(network);
}

/* Whether a process of its own can enter that way. Its refusal becomes this process's. */
static int can(int enter(const struct network *network), const struct network *network)
{
	int   words[2], status = -1;
	pid_t child;

	if (pipe2(words, O_CLOEXEC))
		return !refused("pipe");
	child = fork();
	if (child == 0)
		_exit(enter(network) ? write(words[1], refusal, sizeof(refusal)) != 0 : 0);
	close(words[1]);
	if (child < 0)
		refused("fork");
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (status && child > 0 && read(words[0], refusal, sizeof(refusal)) <= 0)
		refused("a process that was to try it");
	close(words[0]);
	return !status;
}

/* Where one cannot come back, another process tries first. Root has no use for a user namespace: it
 * could take no other user's rights there, as servers do. */
static int enter_for_good(const struct network *network)
{
	if (can(enter_network, network))
		return enter_network(network) ? fail("entering a private network") : 1;
	if (geteuid() && can(enter_both, network))
		return enter_both(network) ? fail("entering a private network") : 1;
	return 0;
}

static int enter(const struct network *network)
{
	int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), outcome = 1;

	/* Who may not enter the network where it is already, or cannot, as in gVisor, could not
	 * come back. */
	if (before < 0 || setns(before, CLONE_NEWNET))
		outcome = enter_for_good(network);
	else if (unshare(CLONE_NEWNET))
		outcome = refused("unshare") + 1;
	else if (furnish(network))
		outcome = setns(before, CLONE_NEWNET) ? fail("leaving a private network") : 0;
	if (before >= 0)
		close(before);
	return outcome;
}

int private_network_enter(void)
{
	struct ifreq   loopback = { 0 };
	struct network network = { 0 };
	int            outcome = 0;

	if (ask(SIOCGIFMTU, &loopback))
		refused("lo");
	else if (read_settings(&network.settings, "/proc/sys/net", 0))
		refused("/proc/sys/net");
	else {
		network.mtu = loopback.ifr_mtu;
		outcome = enter(&network);
	}
	forget(&network.settings);
	return outcome;
}

const char *private_network_refusal(void)
{
	return refusal;
}

#else

int private_network_enter(void)
{
	return 0;
}

const char *private_network_refusal(void)
{
	return "network namespaces need Linux";
}

#endif
