/* udp_send -- a stream of datagrams sent to the far end over UDP (netperf's UDP_STREAM).
 *
 * Measures     goodput: an operation is a datagram of `size` bytes that has arrived and was read
 *              there, and the bandwidth is that of those. This end sends as fast as it can, or
 *              `rate` datagrams a second in each flow, and goes on sending until the far end says
 *              that the batch's number has arrived.
 * Leaves out   the rate at which datagrams leave, which says nothing: the system may throw them
 *              away at once.
 * Beware       what this end sends in vain costs processor time, which "demand" counts for what
 *              arrived. Those that are still under way when the batch ends are sent in vain, too.
 *              Without a limit, loss is where the receiver is slower than the sender.
 * After        UDP_STREAM of netperf (Jones), which reports the sender's rate as well.
 */
#include <errno.h>
#include <unistd.h>

#include "../api/system.h"
#include "flows.h"

enum { LOOK_EACH = 32, PATIENCE_MS = 5000 };

static uint64_t size = 1472, rate; /* a packet of 1500 bytes with its heads */
static uint32_t batches[FLOWS_MOST];

/* Whether the far end has said that the batch is there. Its socket gets nothing else. */
static int is_there(struct flow *flow, const struct datagram_head *head, int *is_over)
{
	struct datagram_head told;
	ssize_t              got;

	while ((got = recv(flow->socket, &told, sizeof(told), MSG_DONTWAIT)) > 0)
		*is_over |= got == (ssize_t)sizeof(told) && told.batch == head->batch;
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return peer_lost("recv");
	return 0;
}

static void wait_until(uint64_t moment_ns)
{
	uint64_t now = clock_ns();

	if (moment_ns > now)
		usleep((useconds_t)((moment_ns - now) / 1000));
}

static int send_one(struct flow *flow, const struct datagram_head *head)
{
	memcpy(flow->bytes, head, sizeof(*head));
	/* A queue that is full throws them away, as it does without saying so. */
	if (write(flow->socket, flow->bytes, size) != (ssize_t)size && errno != ENOBUFS &&
	    errno != EAGAIN) {
		if (errno == EMSGSIZE)
			return unsupported(
				"a datagram of %llu bytes exceeds the largest packet here",
				(unsigned long long)size);
		return peer_lost("write");
	}
	return 0;
}

static int perform(struct flow *flow, uint64_t operations)
{
	struct datagram_head head = { .batch = ++batches[flow->number],
		                      .goal = htonl((uint32_t)operations) };
	uint64_t             began = clock_ns(), sent = 0;
	int                  is_over = 0, outcome = 0;

	while (!is_over && !outcome) {
		outcome = send_one(flow, &head);
		sent++;
		flow->sent++;
		if (rate)
			wait_until(began + sent * 1000000000u / rate);
		if (!outcome && sent >= operations &&
		    (rate || sent == operations || sent % LOOK_EACH == 0))
			outcome = is_there(flow, &head, &is_over);
		if (!outcome && (rate || sent % 1024 == 0) && sent > 8 * operations &&
		    clock_ns() - began > PATIENCE_MS * (uint64_t)1000000)
			return fail_check("of %llu datagrams not %llu have come to the far end: is "
			                  "there a firewall between?",
			                  (unsigned long long)sent, (unsigned long long)operations);
	}
	return outcome;
}

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND }, .perform = perform };

	peer_order.service = SERVE_DATAGRAMS;
	peer_order.request = peer_order.response = size;
	flows_unit_bytes = &size;
	return flows_open(&flows);
}

static const struct phase phases[] = {
	{ .metric = "bandwidth", .run = flows_run }, FLOWS_COSTS("KB"), FLOWS_LOSS, { 0 }
};

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in a datagram", &size, sizeof(struct datagram_head), 65507),
	NUMBER("rate", "datagrams per second in each flow; 0: as many as possible", &rate, 0,
	       100000000),
	PEER_PARAMETERS,
	{ 0 },
};

const struct workload workload_udp_send = {
	.name = "udp_send",
	.group = "network",
	.summary = "datagrams sent over UDP, of which those count that arrive",
	.operation = "datagram",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.bytes = &size,
	.instructions = 10,
};
