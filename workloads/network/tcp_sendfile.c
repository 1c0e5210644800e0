/* tcp_sendfile -- a stream sent over TCP out of a file, by sendfile (netperf's TCP_SENDFILE).
 *
 * Measures     as tcp_send, but each operation is a sendfile of `size` bytes: the kernel takes the
 *              file's pages into packets without copying them.
 * Leaves out   the disk: the file is in memory, and is the same at each operation.
 * Beware       over loopback or a veth pair the receiver copies out of the very pages of the file,
 *              so one copy is left where tcp_send has two; a device would read them by itself.
 * After        TCP_SENDFILE of netperf (Jones).
 */
#ifdef __linux__
#include <sys/sendfile.h>
#endif

#include "contents_of_flow.h"

static int send_once(struct flow *flow)
{
#ifdef __linux__
	off_t    at = 0;
	uint64_t left = size;

	while (left) {
		ssize_t sent = sendfile(flow->socket, contents, &at, left);

		if (sent <= 0)
			return peer_lost("sendfile");
		left -= (uint64_t)sent;
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

static int setup(void)
{
	static const struct flows flows = { .roles = { ROLE_SEND }, .perform = perform };
	int                       outcome = contents_make();

	return outcome ? outcome : stream_open(&flows);
}

static const struct phase     phases[] = { STREAM_PHASES, { 0 } };
static const struct parameter parameters[] = { STREAM_PARAMETERS(1, SIZE_MOST), { 0 } };
static const struct call      calls[] = { { "sendfile", 1 }, { 0 } };

const struct workload workload_tcp_sendfile = {
	.name = "tcp_sendfile",
	.group = "network",
	.summary = "a stream sent over TCP out of a file by sendfile",
	.operation = "sendfile",
	.setup = setup,
	.before = flows_before,
	.phases = phases,
	.teardown = contents_close,
	.parameters = parameters,
	.bytes = &size,
	.calls = calls,
};
