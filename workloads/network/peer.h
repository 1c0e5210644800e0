/* peer.h -- the near end of a network workload, and what it has at its other end.
 *
 * The parameter `peer` says where the far end is:
 *	loopback           a process of this trial, by 127.0.0.1 or ::1
 *	namespace          the same, in a private network of its own (namespace.h)
 *	ADDRESS PORT TOKEN one that waits there: the laboratory has started it, and knows the token
 * Whatever it is, the far end is a process with a control connection (order.h), and accounts for
 * itself. Functions return outcomes.
 *
 * A workload states what it needs in `peer_order`, opens the peer in setup, and then runs over
 * flows.
 */
#ifndef STEELYARD_PEER_H
#define STEELYARD_PEER_H

#include "../api/workload.h"
#include "address.h"
#include "namespace.h"
#include "options.h"
#include "order.h"

enum { PEER_MOST = 200 };

extern char         peer_name[PEER_MOST + 1];
extern struct order peer_order;
extern struct wire  peer_wire;
extern uint64_t     peer_by_ipv6;

#define PEER_FLOWS                                                                                 \
	NUMBER("flows", "concurrent flows, each with a thread at either end if there are several", \
	       &peer_order.flows, 1, FLOWS_MOST)
#define PEER_ENDS                                                                                 \
	STRING("peer", "the far end: loopback, namespace, or ADDRESS PORT TOKEN", peer_name,      \
	       PEER_MOST),                                                                        \
		NUMBER("ipv6", "1: IPv6, if the peer is loopback or namespace", &peer_by_ipv6, 0, \
	               1),                                                                        \
		NUMBER("buffer", "bytes of each socket's buffers; 0: the system's",               \
	               &peer_order.buffer, 0, SIZE_MOST),                                         \
		NUMBER("delay_us", "one-way delay, in a namespace", &peer_wire.delay_us, 0,       \
	               10000000),                                                                 \
		NUMBER("rate_mbit", "rate limit, in a namespace; 0: none", &peer_wire.rate_mbit,  \
	               0, 34000),                                                                 \
		NUMBER("loss_ppm", "packets lost per million, in a namespace",                    \
	               &peer_wire.loss_ppm, 0, 1000000),                                          \
		NUMBER("mtu", "bytes in a packet, in a namespace; 0: the system's",               \
	               &peer_wire.mtu, 0, 65535)
#define PEER_TCP                                                                                 \
	NUMBER("nodelay", "1: send at once, without waiting for more data", &peer_order.at_once, \
	       0, 1),                                                                            \
		STRING("congestion",                                                             \
	               "congestion control, such as bbr or cubic; empty: the system's",          \
	               peer_order.congestion, CONGESTION_ROOM - 1),                              \
		NUMBER("idle", "additional idle connections", &peer_order.idle, 0, IDLE_MOST)
#define PEER_PARAMETERS     PEER_FLOWS, PEER_ENDS
#define PEER_TCP_PARAMETERS PEER_PARAMETERS, PEER_TCP

/* Starts the far end, or connects to one, and gives it the order. */
int peer_open(void);
/* Safe after half a setup. */
void peer_close(void);

/* A connection or a connected socket to the service; `number` is the flow's. Of a stream's it says
 * the role, and waits until it is served. */
int peer_connect(uint64_t number, enum role role, int *one);
/* The same without a role, and of the options with `buffer` alone, for a workload whose operation
 * this is. Returns -1 with errno. */
int peer_connect_only(void);

/* What a failed connect or read means, in words that name the far end. */
int peer_lost(const char *call);

/* What the far end has used by now. */
int peer_cost(struct cost *used);
/* Whether both ends are on one machine. */
int peer_is_here(void);

#endif
