/* tcp_splice -- a stream sent over TCP out of a file by way of a pipe, by splice.
 *
 * Measures     as tcp_send, but each operation takes `size` bytes of a file into a pipe by one
 *              splice, and from there into the connection by another: pages move, and nothing is
 *              copied.
 * Leaves out   the disk: the file is in memory.
 * Beware       a pipe holds 64 KiB, and so does an operation at most. Of the copy that is left, see
 *              tcp_sendfile.
 * After        splice(2); Torvalds on linux-kernel, April 2006.
 */
#include <fcntl.h>

#include "../api/system.h"
#include "contents_of_flow.h"

enum { PIPE_BYTES = 65536 };

static int pipes[FLOWS_MOST][2];

static int send_once(struct flow *flow)
{
#ifdef __linux__
	loff_t  at = 0;
	int    *ends = pipes[flow->number];
	ssize_t taken = splice(contents, &at, ends[1], NULL, size, SPLICE_F_MOVE);

	if (taken != (ssize_t)size)
		return taken < 0 ? fail("splice") : fail_check("splice took %zd bytes", taken);
	while (taken) {
		ssize_t sent = splice(ends[0], NULL, flow->socket, NULL, (size_t)taken,
		                      SPLICE_F_MOVE);

		if (sent <= 0)
			return peer_lost("splice");
		taken -= sent;
	}
#else
	(void)flow;
#endif
	return 0;
}

static int perform(struct flow *flow, uint64_t operations)
{
	return stream_send_by(flow, operations, send_once);
}

static int begin(struct flow *flow)
{
	return pipe_make(pipes[flow->number]) ? fail("pipe") : 0;
}

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND },
		                            .begin = begin,
		                            .perform = perform };
	int                       outcome = contents_make();

	return outcome ? outcome : stream_open(&flows);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, PIPE_BYTES), { 0 } };
static const struct call      calls[] = { { "splice", 2 }, { 0 } };

const struct workload workload_tcp_splice = {
	.name = "tcp_splice",
	.group = "network",
	.summary = "a stream sent over TCP out of a file by splice",
	.operation = "pair of splices",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = contents_close,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
