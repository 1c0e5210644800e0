/* pair.h -- what the workloads of this group share: two processes, and a way for bytes in each
 * direction between them, by two pipes or two connected UNIX-domain sockets.
 */
#ifndef STEELYARD_IPC_PAIR_H
#define STEELYARD_IPC_PAIR_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

enum { IN, OUT }; /* a process's reading and its writing end; of a socket they are one */

static struct {
	int   ours[2], partners[2];
	pid_t partner;
} pair = { .ours = { -1, -1 }, .partners = { -1, -1 }, .partner = -1 };

static inline int pair_by_pipes(void)
{
	int there[2], back[2];

	if (pipe_make(there))
		return fail("pipe");
	pair.partners[IN] = there[0];
	pair.ours[OUT] = there[1];
	if (pipe_make(back))
		return fail("pipe");
	pair.ours[IN] = back[0];
	pair.partners[OUT] = back[1];
	return 0;
}

#ifndef _WIN32
#include <sys/socket.h>

static inline int pair_by_sockets(int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type, 0, ends)) {
		if (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT)
			return unsupported("there are no such UNIX-domain sockets: %s",
			                   strerror(errno));
		return fail("socketpair");
	}
	pair.ours[IN] = pair.ours[OUT] = ends[0];
	pair.partners[IN] = pair.partners[OUT] = ends[1];
	return 0;
}
#endif

static inline void ends_close(int ends[2])
{
	if (ends[IN] >= 0)
		close(ends[IN]);
	if (ends[OUT] >= 0 && ends[OUT] != ends[IN])
		close(ends[OUT]);
	ends[IN] = ends[OUT] = -1;
}

/* Starts the other process. */
static inline int pair_start(void (*serve)(void))
{
	pair.partner = partner_start(serve, &pair, sizeof(pair));
	if (pair.partner < 0)
		return fail("making the partner");
	ends_close(pair.partners);
	return 0;
}

/* For the other process, first: otherwise it would not notice that ours are closed. */
static inline void pair_join(void)
{
	ends_close(pair.ours);
}

static inline void pair_end(void)
{
	ends_close(pair.ours);
	ends_close(pair.partners);
	partner_end(&pair.partner);
}

#endif
