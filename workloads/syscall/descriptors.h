/* descriptors.h -- many open files or connected sockets, for the workloads that watch them.
 *
 * The watched ones are opened first, so that they have the lowest numbers, because select cannot
 * name high ones. The files are one file, opened several times. The sockets are ends of TCP
 * connections over the loopback interface; the other ends are this process's too. Both ends are
 * closed by a reset: after an orderly end the kernel keeps a record of each connection, and its
 * port, for a minute.
 */
#ifndef STEELYARD_DESCRIPTORS_H
#define STEELYARD_DESCRIPTORS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../api/workload.h"

enum { DESCRIPTORS_MOST = 1000, PATIENCE_MS = 10000 };

struct descriptors {
	uint64_t watched_count, peer_count; /* open ones */
	int      watched[DESCRIPTORS_MOST], peers[DESCRIPTORS_MOST];
	int      has_file; /* to be removed */
};

static inline int descriptors_open_files(struct descriptors *d, uint64_t count)
{
	int outcome = files_allow(count);

	if (outcome)
		return outcome;
	if (chdir(trial_directory()))
		return fail("chdir");
	while (d->watched_count < count) {
		int file = open("watched", O_RDONLY | O_CREAT, 0600);

		if (file < 0)
			return fail("open");
		d->has_file = 1;
		d->watched[d->watched_count++] = file;
	}
	return 0;
}

static inline int descriptors_make_socket(int *made)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	*made = socket(AF_INET, SOCK_STREAM, 0);
	if (*made < 0)
		return errno == EAFNOSUPPORT ? unsupported("there is no TCP") : fail("socket");
	if (setsockopt(*made, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		return fail("setsockopt");
	return 0;
}

/* Accepts the other end of `near_end`, and refuses any other connection. */
static inline int descriptors_accept(struct descriptors *d, int listener, int near_end)
{
	struct linger      reset = { .l_onoff = 1, .l_linger = 0 };
	struct sockaddr_in near_name, from;
	socklen_t          near_bytes = sizeof(near_name), from_bytes = sizeof(from);
	int                peer = accept(listener, (struct sockaddr *)&from, &from_bytes);

	if (peer < 0)
		return fail("accept");
	d->peers[d->peer_count++] = peer;
	if (setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		return fail("setsockopt");
	if (getsockname(near_end, (struct sockaddr *)&near_name, &near_bytes))
		return fail("getsockname");
	if (near_name.sin_port != from.sin_port)
		return fail_check("a stranger connected, from port %d", ntohs(from.sin_port));
	return 0;
}

static inline int descriptors_connect_all(struct descriptors *d, int listener)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t          bytes = sizeof(name);
	int                outcome = 0;

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)))
		return errno == EADDRNOTAVAIL ? unsupported("there is no loopback network")
		                              : fail("bind");
	if (listen(listener, 1))
		return fail("listen");
	if (getsockname(listener, (struct sockaddr *)&name, &bytes))
		return fail("getsockname");
	for (uint64_t i = 0; i < d->watched_count && !outcome; i++) {
		if (connect(d->watched[i], (struct sockaddr *)&name, sizeof(name)))
			return errno == ENETUNREACH ? unsupported("there is no loopback network")
			                            : fail("connect");
		outcome = descriptors_accept(d, listener, d->watched[i]);
	}
	return outcome;
}

static inline int descriptors_connect_sockets(struct descriptors *d, uint64_t count)
{
	int listener = -1, outcome = files_allow(2 * count);

	while (!outcome && d->watched_count < count)
		if ((outcome = descriptors_make_socket(&d->watched[d->watched_count])) == 0 ||
		    d->watched[d->watched_count] >= 0)
			d->watched_count++;
	if (!outcome && (outcome = descriptors_make_socket(&listener)) == 0)
		outcome = descriptors_connect_all(d, listener);
	if (listener >= 0)
		close(listener);
	return outcome;
}

/* Sends a byte, which is never read, to each of the first `count` watched sockets, and waits for
 * it. */
static inline int descriptors_make_ready(const struct descriptors *d, uint64_t count)
{
	if (count > d->watched_count)
		return fail_check("ready=%llu is more than descriptors=%llu",
		                  (unsigned long long)count, (unsigned long long)d->watched_count);
	for (uint64_t i = 0; i < count; i++) {
		struct pollfd one = { .fd = d->watched[i], .events = POLLIN };

		if (write_whole(d->peers[i], "", 1))
			return fail("write");
		if (poll(&one, 1, PATIENCE_MS) != 1)
			return fail_check("a byte over the loopback network did not come");
	}
	return 0;
}

static inline void descriptors_close(struct descriptors *d)
{
	while (d->watched_count)
		close(d->watched[--d->watched_count]);
	while (d->peer_count)
		close(d->peers[--d->peer_count]);
	if (d->has_file)
		unlink("watched");
}

#endif
