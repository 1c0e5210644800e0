/* options.h -- what both ends of a network workload do to their sockets. */
#ifndef STEELYARD_OPTIONS_H
#define STEELYARD_OPTIONS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "../api/processor_time.h"
#include "../api/sockets.h"
#include "../api/workload.h"
#include "order.h"

enum {
	FLOWS_MOST = 256,
	SIZE_MOST = 16777216,
	LOST_MS = 10000,
	IDLE_MOST = 10000,
	ROOM_LEAST = 65536
};

/* A count as it goes over the network, or as it came: its highest byte first. */
static inline uint64_t order_of_net(uint64_t count)
{
	return htonl(1) == 1
	               ? count
	               : (uint64_t)htonl((uint32_t)count) << 32 | htonl((uint32_t)(count >> 32));
}

/* Bytes that a flow has in memory at either end, in whole pages. */
static inline size_t order_room(const struct order *order)
{
	const uint64_t needed[] = { order->request, order->response, order->read };
	size_t         room = ROOM_LEAST;

	for (int i = 0; i < 3; i++)
		room = needed[i] > room ? needed[i] : room;
	return (room + 4095) / 4096 * 4096;
}

static inline int socket_buffers(int one, uint64_t bytes)
{
	int buffer = (int)bytes;

	return buffer && (setsockopt(one, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) ||
	                  setsockopt(one, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)))
	               ? -1
	               : 0;
}

/* What the order says of each socket; and that a host that has vanished ends the connection.
 * Returns 0, or -1 with errno. */
static inline int socket_options(int one, const struct order *order)
{
	int       at_once = (int)order->at_once, on = 1, kind;
	socklen_t length = sizeof(kind);

	if (socket_buffers(one, order->buffer))
		return -1;
	if (getsockopt(one, SOL_SOCKET, SO_TYPE, &kind, &length) || kind != SOCK_STREAM)
		return 0;
#ifdef TCP_USER_TIMEOUT
	unsigned lost_ms = LOST_MS;
	int      idle_s = LOST_MS / 1000;

	/* Not everywhere; without them a trial ends at its limit. */
	setsockopt(one, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof(lost_ms));
	setsockopt(one, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(one, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
#else
	(void)on;
#endif
	if (setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)))
		return -1;
#ifdef TCP_CONGESTION
	if (*order->congestion && setsockopt(one, IPPROTO_TCP, TCP_CONGESTION, order->congestion,
	                                     (socklen_t)strlen(order->congestion)))
		return -1;
#endif
	return 0;
}

#endif
