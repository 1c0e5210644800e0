/* tcp_zerocopy -- a stream sent over TCP without copying, by MSG_ZEROCOPY.
 *
 * Measures     as tcp_send, but the kernel sends out of this process's own pages, and tells by a
 *              message when it needs them no more; those messages are read whenever 16 operations
 *              are not yet told of.
 * Leaves out   what a program must do to leave its pages alone meanwhile: here they never change.
 * Beware       packets that are received on the same machine (loopback, a veth pair) are copied
 *              after all, when they arrive, and the pages are pinned in vain: there it shows the
 *              price of asking. It pays from some 10 KB on, over a device that can gather.
 * After        MSG_ZEROCOPY (de Bruijn and Dumazet, netdev 2.1, 2017).
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "streams.h"

#ifdef __linux__
enum { AHEAD_MOST = 16, ZEROCOPY = 60, SEND_ZEROCOPY = 0x4000000 }; /* SO_ and MSG_ZEROCOPY */
enum { ERROR_SENT = 5 };                                            /* SO_EE_ORIGIN_ZEROCOPY */

/* linux/errqueue.h, which musl's compiler does not find. */
struct extended_error {
	uint32_t number;
	uint8_t  origin, type, code, pad;
	uint32_t first, last;
};

static uint64_t ahead[FLOWS_MOST]; /* sends of which the kernel has not told */
static int      is_told;           /* whether it has of any */

/* Takes what it tells. */
static int hear_sent(struct flow *flow, uint64_t most)
{
	while (ahead[flow->number] > most) {
		_Alignas(struct cmsghdr) char bytes[256];
		struct msghdr message = { .msg_control = bytes, .msg_controllen = sizeof(bytes) };
		struct extended_error told;
		const struct cmsghdr *one;

		if (recvmsg(flow->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			struct pollfd asked = { .fd = flow->socket }; /* an error is always told */

			if ((errno != EAGAIN && errno != EINTR) || poll(&asked, 1, LOST_MS) == 0)
				return is_told ? peer_lost("recvmsg")
				               : unsupported("MSG_ZEROCOPY is taken, but nothing "
				                             "tells when the "
				                             "pages are free");
			continue;
		}
		one = CMSG_FIRSTHDR(&message); /* there is no other */
		if (!one)
			continue;
		memcpy(&told, CMSG_DATA(one), sizeof(told));
		if (told.origin == ERROR_SENT) {
			ahead[flow->number] -= told.last - told.first + 1;
			is_told = 1;
		}
	}
	return 0;
}

static int send_once(struct flow *flow)
{
	uint64_t left = size;

	while (left) {
		ssize_t sent = send(flow->socket, flow->bytes + (size - left), left, SEND_ZEROCOPY);

		/* Too many pages are pinned: those of earlier sends must come back. */
		if (sent < 0 && errno == ENOBUFS && ahead[flow->number]) {
			int outcome = hear_sent(flow, ahead[flow->number] - 1);

			if (outcome)
				return outcome;
			continue;
		}
		if (sent < 0)
			return peer_lost("send");
		left -= (uint64_t)sent;
		ahead[flow->number]++;
	}
	return ahead[flow->number] > AHEAD_MOST ? hear_sent(flow, AHEAD_MOST / 2) : 0;
}

static int perform(struct flow *flow, uint64_t operations)
{
	int outcome = stream_send_by(flow, operations, send_once);

	return outcome ? outcome : hear_sent(flow, 0);
}

static int begin(struct flow *flow)
{
	int on = 1;

	if (!setsockopt(flow->socket, SOL_SOCKET, ZEROCOPY, &on, sizeof(on)))
		return 0;
	return unsupported("this kernel cannot send without copying (SO_ZEROCOPY): %s",
	                   strerror(errno));
}
#else
static int perform(struct flow *flow, uint64_t operations)
{
	(void)flow;
	(void)operations;
	return 0;
}

static int begin(struct flow *flow)
{
	(void)flow;
	return unsupported("MSG_ZEROCOPY is of Linux");
}
#endif

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND },
		                            .begin = begin,
		                            .perform = perform };

	return stream_open(&flows);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, SIZE_MOST), { 0 } };
static const struct call      calls[] = { { "sendto", 1 }, { 0 } };

const struct workload workload_tcp_zerocopy = {
	.name = "tcp_zerocopy",
	.group = "network",
	.summary = "a stream sent over TCP out of this process's own pages",
	.operation = "send",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = flows_close,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
