/* address.h -- an internet address by its numbers, of either family, with a port.
 *
 * No name is ever looked up: the laboratory does that, and a static program could not.
 */
#ifndef STEELYARD_ADDRESS_H
#define STEELYARD_ADDRESS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct address {
	struct sockaddr_storage is;
	socklen_t               length;
};

enum { ADDRESS_ROOM = INET6_ADDRSTRLEN };

static inline in_port_t *address_port(struct address *one)
{
	return one->is.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&one->is)->sin6_port
	                                     : &((struct sockaddr_in *)&one->is)->sin_port;
}

/* Returns 0, or -1 if it is not such an address. */
static inline int address_read(const char *numbers, uint16_t port, struct address *one)
{
	struct sockaddr_in  *v4 = (struct sockaddr_in *)&one->is;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&one->is;

	memset(one, 0, sizeof(*one));
	if (inet_pton(AF_INET, numbers, &v4->sin_addr) == 1) {
		one->is.ss_family = AF_INET;
		one->length = sizeof(*v4);
	} else if (inet_pton(AF_INET6, numbers, &v6->sin6_addr) == 1) {
		one->is.ss_family = AF_INET6;
		one->length = sizeof(*v6);
	} else {
		return -1;
	}
	*address_port(one) = htons(port);
	return 0;
}

/* In numbers, without the port. */
static inline const char *address_text(const struct address *one, char text[ADDRESS_ROOM])
{
	const void *numbers =
		one->is.ss_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)&one->is)->sin6_addr
			: (const void *)&((const struct sockaddr_in *)&one->is)->sin_addr;

	return inet_ntop(one->is.ss_family, numbers, text, ADDRESS_ROOM) ? text : "?";
}

/* Whether both are the same host's, whatever their ports. */
static inline int address_same_host(const struct address *one, const struct address *other)
{
	if (one->is.ss_family != other->is.ss_family)
		return 0;
	if (one->is.ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)&one->is)->sin6_addr,
		               &((const struct sockaddr_in6 *)&other->is)->sin6_addr,
		               sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)&one->is)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)&other->is)->sin_addr.s_addr;
}

/* A socket's own, or its other end's. Return 0, or -1 with errno. */
static inline int address_own(int socket, struct address *one)
{
	one->length = sizeof(one->is);
	return getsockname(socket, (struct sockaddr *)&one->is, &one->length);
}

static inline int address_other(int socket, struct address *one)
{
	one->length = sizeof(one->is);
	return getpeername(socket, (struct sockaddr *)&one->is, &one->length);
}

#endif
