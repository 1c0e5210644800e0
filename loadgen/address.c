/* address.c -- see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "../base/numbers.h"

/* An interface by its name or its number; 0: there is none. */
static uint32_t zone_of(const char *text)
{
	char     name[IF_NAMESIZE];
	uint64_t number;

	if (parse_number(text, &number))
		return if_nametoindex(text);
	return number <= UINT32_MAX && if_indextoname((unsigned)number, name) ? (uint32_t)number
	                                                                      : 0;
}

static int read_6(const char *text, uint16_t port, struct sockaddr_in6 *six)
{
	char        plain[INET6_ADDRSTRLEN];
	const char *zone = strchr(text, '%');
	size_t      length = zone ? (size_t)(zone - text) : strlen(text);

	if (length >= sizeof(plain))
		return ADDRESS_NONE;
	memcpy(plain, text, length);
	plain[length] = 0;
	if (inet_pton(AF_INET6, plain, &six->sin6_addr) != 1)
		return ADDRESS_NONE;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	if (zone && !(six->sin6_scope_id = zone_of(zone + 1)))
		return ADDRESS_NO_ZONE;
	/* ::ffff:127.0.0.1 is 127.0.0.1. */
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
	                                                 six->sin6_addr.s6_addr[12] == 127)
	               ? ADDRESS_LOOPBACK
	               : ADDRESS_OTHER;
}

int address_read(const char *text, uint16_t port, struct options *options)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&options->address;

	if (inet_pton(AF_INET, text, &four->sin_addr) != 1) {
		options->address_length = sizeof(struct sockaddr_in6);
		return read_6(text, port, (struct sockaddr_in6 *)&options->address);
	}
	options->address_length = sizeof(*four);
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	return ntohl(four->sin_addr.s_addr) >> 24 == 127 ? ADDRESS_LOOPBACK : ADDRESS_OTHER;
}
