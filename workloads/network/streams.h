/* streams.h -- what the workloads share that send or receive a stream: batches with their number of bytes
 * before them.
 *
 * An operation is a write of `size` bytes. A batch ends when the far end has said that it has read all of it
 * (when this end sends), or when all of it has been read here.
 */
#ifndef STEELYARD_STREAMS_H
#define STEELYARD_STREAMS_H

#include "flows.h"

static uint64_t size = 16384;

/* Announces a batch. Returns an outcome. */
static inline int stream_announce(struct flow *flow, uint64_t operations)
{
	uint64_t count = order_of_net(operations * peer_order.request);

	return write_whole(flow->socket, &count, sizeof(count)) ? peer_lost("write") : 0;
}

/* That all of it was read there. */
static inline int stream_confirm(struct flow *flow)
{
	char done;

	return read_whole(flow->socket, &done, 1) ? peer_lost("read") : 0;
}

static inline int stream_receive(struct flow *flow, uint64_t operations)
{
	uint64_t left = operations * peer_order.request;
	int      outcome = stream_announce(flow, operations);

	while (left && !outcome) {
		size_t  room = 65536 > peer_order.request ? 65536 : peer_order.request;
		ssize_t got = read(flow->socket, flow->bytes, left < room ? left : room);

		if (got <= 0) {
			errno = got ? errno : 0;
			return peer_lost("read");
		}
		left -= (uint64_t)got;
	}
	return outcome;
}

static inline int stream_open(const struct flows *flows)
{
	peer_order.service = SERVE_FLOWS;
	peer_order.request = peer_order.response = size;
	flows_unit_bytes = &size;
	return flows_open(flows);
}

#define STREAM_PARAMETERS(least, most)                                                                \
	NUMBER("size", "bytes in a write", &size, (least), (most)), PEER_TCP_PARAMETERS
#define STREAM_PHASES { .metric = "bandwidth", .run = flows_run }, FLOWS_COSTS("MB"), FLOWS_ROUND_TRIP

#endif
