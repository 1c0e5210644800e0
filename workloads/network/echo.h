/* echo.h -- what tcp_latency and udp_latency share: two connected sockets, and another process that sends back
 * each byte that comes to its own.
 */
#ifndef STEELYARD_ECHO_H
#define STEELYARD_ECHO_H

#include "../api/workload.h"
#include "loopback.h"

static struct {
	socket_t ends[2];
	pid_t    echo;
} s = { .ends = { -1, -1 }, .echo = -1 };

/* The other process's work: until the connection ends, or a datagram of no bytes says that it is over. */
static void serve(void)
{
	char byte;

	if (sockets_inherit(&s.ends[1], &s.ends[0]))
		return;
	while (socket_read(s.ends[1], &byte, 1) == 1)
		if (socket_write(s.ends[1], &byte, 1) != 1)
			return;
}

/* The workload's: one byte there and back. */
static int round_trip(void);

/* Starts the other process for sockets that are there. */
static inline int echo_start(void)
{
	s.echo = partner_start(serve, &s, sizeof(s));
	if (s.echo < 0)
		return fail("making the partner");
	loopback_close(&s.ends[1]);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = round_trip();
	return outcome;
}

static inline void echo_end(void)
{
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.echo);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

#endif
