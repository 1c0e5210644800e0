/* http_transfer -- fetch a large document from another process by HTTP/1.0.
 *
 * Measures     how fast the body of an answer comes through a TCP connection that was made for it
 *              alone: the copies into and out of the kernel, the packets through the loopback
 *              interface, and how fast the connection's window opens.
 * Leaves out   the server's files: what it sends is in its memory.
 * Beware       connecting, asking and ending are in each operation, and count the less the larger
 *              the document: http_get measures them. As there, the connection is ended by a reset,
 *              and of the body the length is checked, and the first and last byte of each part that
 *              one read returns. The bandwidth counts the body's bytes only. No packet leaves the
 *              machine.
 * After        bw_http of lmbench (McVoy and Staelin).
 */
#include "../api/workload.h"
#include "http.h"

static uint64_t size = HTTP_BODY_MOST;

static int setup(void)
{
	return http_start(size);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the document", &size, 1, HTTP_BODY_MOST),
	{ 0 },
};

const struct workload workload_http_transfer = {
	.name       = "http_transfer",
	.group      = "network",
	.summary    = "a large document from another process by HTTP/1.0",
	.operation  = "request",
	.setup      = setup,
	.run        = http_get,
	.teardown   = http_end,
	.parameters = parameters,
	.bytes      = &size,
	.calls      = http_calls,
};
