/* socket_bind -- make a socket, give it a port, and close it.
 *
 * Measures     socket, bind to a port of 127.0.0.1 that the system chooses, and close. A TCP
 *              socket, or with udp=1 a UDP socket.
 * Leaves out   connecting, listening and data (tcp_connect).
 * Beware       finding a port that is free is part of it, and takes longer the more are in use: the
 *              trial has a network of its own where one can be made, in which none is. The last
 *              socket of each batch is asked for its port, which must not be 0. No packet leaves
 *              the machine.
 * After        the list of lmbench's tests in Korunić's comparison: socket, bind and close in a
 *              second.
 */
#include "../api/workload.h"
#include "loopback.h"

static uint64_t udp;

static int make_and_close(uint64_t is_last)
{
	socket_t one = socket_make(udp ? SOCKET_DATAGRAM : SOCKET_STREAM);
	uint16_t port = 0;
	int      outcome = 0;

	if (one < 0)
		return fail("socket");
	if (socket_bind_any(one))
		outcome = fail("bind");
	else if (is_last && socket_port(one, &port))
		outcome = fail("getsockname");
	else if (is_last && !port)
		outcome = fail_check("a socket that was bound has no port");
	if (socket_close(one) && !outcome)
		outcome = fail("close");
	return outcome;
}

static int setup(void)
{
	socket_t one = -1;
	uint16_t port;
	int      outcome = loopback_begin();

	if (!outcome) /* says whether there is such a network */
		outcome = loopback_bind(udp ? SOCKET_DATAGRAM : SOCKET_STREAM, &one, &port);
	loopback_close(&one);
	return outcome;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = make_and_close(!operations);
	return outcome;
}

static const struct parameter parameters[] = {
	NUMBER("udp", "1: a UDP socket; 0: a TCP socket", &udp, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "socket", 1 }, { "bind", 1 }, { "close", 1 }, { 0 } };

const struct workload workload_socket_bind = {
	.name = "socket_bind",
	.group = "network",
	.summary = "a socket made, bound to a port, and closed",
	.operation = "socket",
	.setup = setup,
	.run = run,
	.parameters = parameters,
	.calls = calls,
};
