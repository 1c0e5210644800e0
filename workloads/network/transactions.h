/* transactions.h -- what tcp_request and udp_request share: several requests under way, and the
 * next one for each response.
 */
#ifndef STEELYARD_TRANSACTIONS_H
#define STEELYARD_TRANSACTIONS_H

#include <errno.h>
#include <poll.h>

#include "../api/system.h"
#include "flows.h"

enum { OUTSTANDING_MOST = 1024 };

static uint64_t request = 1, response = 1, outstanding = 1;

#define TRANSACTION_SHAPE(outstanding_most)                                                 \
	NUMBER("request", "bytes in a request", &request, 1, 65507),                        \
		NUMBER("response", "bytes in a response", &response, 1, 65507),             \
		NUMBER("outstanding", "outstanding requests in each flow", &outstanding, 1, \
	               outstanding_most)
#define TRANSACTION_PARAMETERS(outstanding_most) \
	TRANSACTION_SHAPE(outstanding_most), FLOWS_LATENCY_PARAMETER

/* The workload's own. Return outcomes. */
typedef int send_t(struct flow *flow);
typedef int receive_t(struct flow *flow);

static send_t    *transaction_send;
static receive_t *transaction_receive;

static int transactions_perform(struct flow *flow, uint64_t operations)
{
	uint64_t sent = 0;
	int      outcome = 0;

	while (sent < operations && sent < outstanding && !outcome) {
		outcome = transaction_send(flow);
		sent++;
	}
	for (uint64_t received = 0; received < operations && !outcome; received++) {
		outcome = transaction_receive(flow);
		if (!outcome && sent < operations) {
			outcome = transaction_send(flow);
			sent++;
		}
	}
	return outcome;
}

/* Responses come in the order of the requests. */
static int transactions_perform_each(struct flow *flow, uint64_t operations)
{
	uint64_t began[OUTSTANDING_MOST], sent = 0;
	int      outcome = 0;

	for (uint64_t received = 0; received < operations && !outcome; received++) {
		while (sent < operations && sent < received + outstanding && !outcome) {
			began[sent++ % outstanding] = clock_ns();
			outcome = transaction_send(flow);
		}
		if (!outcome && !(outcome = transaction_receive(flow)))
			histogram_add(flow->latencies, clock_ns() - began[received % outstanding]);
	}
	return outcome;
}

/* `begin` is as in struct flows. */
static inline int transactions_open(send_t *send, receive_t *receive,
                                    int (*begin)(struct flow *flow))
{
	static struct flows flows = { .roles = { ROLE_TRANSACTIONS },
		                      .perform = transactions_perform,
		                      .perform_each = transactions_perform_each };

	peer_order.request = request;
	peer_order.response = response;
	flows.begin = begin;
	transaction_send = send;
	transaction_receive = receive;
	return flows_open(&flows);
}

/* Over TCP. Responses of each flow that were read early: where all buffers are full this end must
 * read, or both would wait for ever. */
static uint64_t early[FLOWS_MOST];

static inline int response_come(struct flow *flow)
{
	return read_whole(flow->socket, flow->bytes, peer_order.response) ? peer_lost("read") : 0;
}

static inline int response_read(struct flow *flow)
{
	if (!early[flow->number])
		return response_come(flow);
	early[flow->number]--;
	return 0;
}

static inline int request_write_some(struct flow *flow, uint64_t *done)
{
	struct pollfd one = { .fd = flow->socket, .events = POLLIN | POLLOUT };
	ssize_t sent = send(flow->socket, flow->bytes, peer_order.request - *done, MSG_DONTWAIT);

	if (sent >= 0) {
		*done += (uint64_t)sent;
		return 0;
	}
	if (errno != EAGAIN && errno != EINTR)
		return peer_lost("send");
	if (poll(&one, 1, -1) < 0 || !(one.revents & POLLIN))
		return 0;
	early[flow->number]++;
	return response_come(flow);
}

static inline int request_write(struct flow *flow)
{
	uint64_t done = 0;
	int      outcome = 0;

	if (outstanding == 1)
		return write_whole(flow->socket, flow->bytes, peer_order.request)
		               ? peer_lost("write")
		               : 0;
	while (done < peer_order.request && !outcome)
		outcome = request_write_some(flow, &done);
	return outcome;
}

static inline int requests_open(void)
{
	peer_order.service = SERVE_FLOWS;
	return transactions_open(request_write, response_read, NULL);
}

#endif
