/* tcp_connect -- make a TCP connection to another process, and end it.
 *
 * Measures     socket, connect, the three packets that make a connection, accept by the other
 *              process and its wake-up, its close, the packet that ends the connection, the first
 *              process's wake-up, and its close.
 * Leaves out   data: none is sent. Listening (in setup).
 * Beware       the other process ends the connection by a reset (SO_LINGER of zero seconds, one
 *              more call per operation). If both sides ended it with goodbyes, the kernel would
 *              keep a record of each connection for a minute (TIME_WAIT): tens of thousands of them
 *              in a trial, until ports or room for records run out, and each operation would take
 *              longer than the one before. The first process waits for the reset, so that no
 *              operation leaves work to the next. The reset may come before connect has returned;
 *              then connect reports it, and nothing is read. Wine says goodbye first and then
 *              resets: there the first process waits for the goodbye, and the reset clears the
 *              kernel's records as well. No packet leaves the machine.
 * After        lat_connect of lmbench (McVoy and Staelin, 1996), whose connections end with
 *              goodbyes.
 */
#include <errno.h>

#include "../api/workload.h"
#include "loopback.h"

static struct {
	socket_t listener;
	uint16_t port;
	pid_t    acceptor;
} s = { .listener = -1, .acceptor = -1 };

/* The other process: accepts and resets, until it is ended: a socket that listens sees no end. */
static void serve(void)
{
	socket_t accepted;

	if (sockets_inherit(&s.listener, NULL))
		return;
	while ((accepted = socket_accept(s.listener)) >= 0)
		if (socket_end_by_reset(accepted) || socket_close(accepted))
			return;
}

/* Until the other process has reset the connection. */
static int wait_for_end(socket_t connection)
{
	char    byte;
	ssize_t got = socket_read(connection, &byte, 1);

	if (got < 0 && socket_trouble(errno) == SOCKET_RESET)
		return 0;
	if (got == 0 && sockets_say_goodbye())
		return 0;
	return got < 0 ? fail("read") : fail_check("the connection did not end by a reset");
}

static int make_and_end(void)
{
	socket_t connection = socket_make(SOCKET_STREAM);
	int      outcome = 0;

	if (connection < 0)
		return fail("socket");
	if (socket_connect(connection, s.port) == 0)
		outcome = wait_for_end(connection);
	else if (socket_trouble(errno) != SOCKET_RESET) /* a connection that nobody accepts is
	                                                   refused */
		outcome = fail("connect");
	if (socket_close(connection) && !outcome)
		outcome = fail("close");
	return outcome;
}

static int setup(void)
{
	int outcome = loopback_listen(&s.listener, &s.port);

	if (outcome)
		return outcome;
	s.acceptor = partner_start(serve, &s, sizeof(s));
	if (s.acceptor < 0)
		return fail("making the partner");
	/* Only the acceptor listens: if it ends, connections are refused and nobody waits. */
	loopback_close(&s.listener);
	return make_and_end(); /* when it is over, the other process is there */
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = make_and_end();
	return outcome;
}

static void teardown(void)
{
	loopback_close(&s.listener);
	partner_stop(&s.acceptor);
}

static const struct call calls[] = {
	{ "socket", 1 }, { "connect", 1 }, { "accept", 1 }, { "close", 2 }, { 0 },
};

const struct workload workload_tcp_connect = {
	.name = "tcp_connect",
	.group = "network",
	.summary = "a TCP connection to another process, made and ended",
	.operation = "connection",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
