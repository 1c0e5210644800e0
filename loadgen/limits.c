/* limits.c -- see limits.h. */
#include "limits.h"

#include <errno.h>

const struct own_limit own_limits[OWN_LIMITS] = {
	{ EMFILE, "EMFILE", "the load generator may have no more open files" },
	{ ENFILE, "ENFILE", "this machine may have no more open files" },
	{ EADDRNOTAVAIL, "EADDRNOTAVAIL", "no local port is free for another connection" },
	{ EADDRINUSE, "EADDRINUSE", "no local port is free for another connection" },
	{ EAGAIN, "EAGAIN", "no local port is free for another connection" },
	{ ENOBUFS, "ENOBUFS", "the load generator's kernel has no room for another socket's data" },
	{ ENOMEM, "ENOMEM", "the load generator has no more memory" },
	{ ENOSPC, "ENOSPC",
	  "this user may wait for no more connections (fs.epoll.max_user_watches)" },
	{ EPERM, "EPERM", "this machine does not let the load generator's packets out" },
	{ EACCES, "EACCES", "this machine does not let the load generator connect" },
	{ ENETUNREACH, "ENETUNREACH", "this machine has no route to the server" },
	{ ENETDOWN, "ENETDOWN", "this machine's network is down" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT", "this machine has no such network protocol" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT", "this machine has no such network protocol" },
	{ ENOSYS, "ENOSYS", "this machine's kernel has no such call, or a sandbox refuses it" },
};

int own_limit_of(int error)
{
	for (int i = 0; i < OWN_LIMITS; i++)
		if (own_limits[i].error == error)
			return i;
	return -1;
}
