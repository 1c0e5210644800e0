/* http_get -- fetch a small document from another process by HTTP/1.0.
 *
 * Measures     a TCP connection for one document: connect and accept; sending the request and
 *              parsing its first line; sending headers and body back and checking them; the end of
 *              the connection; and the switches between the two processes.
 * Leaves out   the server's files: it sends from memory. Names, encryption, and everything else
 *              that a server does.
 * Beware       the client knows the end of the body by the length in the headers, and then ends the
 *              connection by a reset, so that nothing of it stays in the kernel (tcp_connect says
 *              why). The server notices this and closes; with two processors it does so while the
 *              client begins the next operation. The client checks the length of the body, and the
 *              first and last byte of each part that one read returns; checking all of it would
 *              measure memcmp. No packet leaves the machine.
 * After        lat_http of lmbench (McVoy and Staelin).
 */
#include "../api/workload.h"
#include "http.h"

static uint64_t size = 1024;

static int setup(void)
{
	return http_start(size);
}

static const struct parameter parameters[] = {
	NUMBER("size", "bytes in the document", &size, 0, HTTP_BODY_MOST),
	{ 0 },
};

const struct workload workload_http_get = {
	.name = "http_get",
	.group = "network",
	.summary = "a small document fetched from another process by HTTP/1.0",
	.operation = "request",
	.setup = setup,
	.run = http_get,
	.teardown = http_end,
	.parameters = parameters,
	.calls = http_calls,
};
