/* streams.h -- what the workloads share that send or receive a stream: batches with their number of
 * bytes before them.
 *
 * An operation is a write of `size` bytes. A batch ends when the far end has said that it has read
 * all of it (when this end sends), or when all of it has been read here.
 */
#ifndef STEELYARD_STREAMS_H
#define STEELYARD_STREAMS_H

#include <errno.h>
#include <unistd.h>

#include "flows.h"

static uint64_t size = 16384, read_most = 131072;

/* Announces a batch. Returns an outcome. */
static inline int stream_announce(struct flow *flow, uint64_t operations)
{
	union message batch = { .all = { 0 } };

	batch.bytes = order_of_net(operations * peer_order.request);
	return write_whole(flow->socket, &batch, sizeof(batch)) ? peer_lost("write") : 0;
}

/* Announces a batch, sends each of its pieces by that function, and waits until all of it was read
 * there. */
INLINED int stream_send_by(struct flow *flow, uint64_t operations,
                           int (*send_once)(struct flow *flow))
{
	int  outcome = stream_announce(flow, operations);
	char done;

	while (operations-- && !outcome)
		outcome = send_once(flow);
	if (outcome)
		return outcome;
	return read_whole(flow->socket, &done, 1) ? peer_lost("read") : 0;
}

INLINED int stream_write(struct flow *flow)
{
	return write_whole(flow->socket, flow->bytes, peer_order.request) ? peer_lost("write") : 0;
}

static inline int stream_send(struct flow *flow, uint64_t operations)
{
	return stream_send_by(flow, operations, stream_write);
}

static inline int stream_receive(struct flow *flow, uint64_t operations)
{
	uint64_t left = operations * peer_order.request;
	int      outcome = stream_announce(flow, operations);

	while (left && !outcome) {
		ssize_t got = read(flow->socket, flow->bytes,
		                   left < peer_order.read ? left : peer_order.read);

		if (got <= 0) {
			errno = got ? errno : 0;
			return peer_lost("read");
		}
		left -= (uint64_t)got;
	}
	return outcome;
}

/* `moved` are the bytes of an operation. */
static inline int stream_open_of(const struct flows *flows, const uint64_t *moved)
{
	peer_order.service = SERVE_FLOWS;
	peer_order.request = peer_order.response = size;
	peer_order.read = read_most;
	flows_unit_bytes = moved;
	return flows_open(flows);
}

static inline int stream_open(const struct flows *flows)
{
	return stream_open_of(flows, &size);
}

#define STREAM_READ NUMBER("read", "maximum bytes per read", &read_most, 1, SIZE_MOST)
#define STREAM_PARAMETERS(least, most) \
	NUMBER("size", "bytes in a write", &size, (least), (most)), STREAM_READ, PEER_TCP_PARAMETERS
#define STREAM_PHASES { .metric = "bandwidth", .run = flows_run }, FLOWS_COSTS("KB"), FLOWS_TCP

#endif
