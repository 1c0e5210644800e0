/* http_transfer -- fetch a large document from another process by HTTP/1.0.
 *
 * Measures     how fast the body of an answer arrives through a new TCP connection: copying into
 *              and out of the kernel, the packets through the loopback interface, and how fast the
 *              connection's window opens.
 * Leaves out   the server's files: it sends from memory.
 * Beware       each operation also connects, asks and ends the connection, which matters less the
 *              larger the document is; http_get measures this. As there, a reset ends the
 *              connection, and the client checks the length of the body and the first and last byte
 *              of each part that one read returns. The bandwidth counts only the bytes of the body.
 *              No packet leaves the machine.
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
	.name = "http_transfer",
	.group = "network",
	.summary = "a large document fetched from another process by HTTP/1.0",
	.operation = "request",
	.setup = setup,
	.run = http_get,
	.teardown = http_end,
	.parameters = parameters,
	.bytes = &size,
	.calls = http_calls,
};
