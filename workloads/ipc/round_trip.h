/* round_trip.h -- a byte to another process and back: what the latency workloads of this group
 * share.
 *
 * The byte is another one each time and comes back as its complement, so that each round trip is
 * one of its own and has been in the other process.
 */
#ifndef STEELYARD_IPC_ROUND_TRIP_H
#define STEELYARD_IPC_ROUND_TRIP_H

#include "pair.h"

/* The other process's work: until what it reads ends, or a message of no bytes comes. */
static void serve(void)
{
	const int     in = pair.partners[IN], out = pair.partners[OUT];
	unsigned char byte;

	pair_join();
	while (read(in, &byte, 1) == 1) {
		byte = (unsigned char)~byte;
		if (write(out, &byte, 1) != 1)
			return;
	}
}

static int run(uint64_t operations)
{
	const int in = pair.ours[IN], out = pair.ours[OUT];

	while (operations--) {
		unsigned char sent = (unsigned char)operations, byte = sent;
		ssize_t       got;

		if (write(out, &byte, 1) != 1)
			return fail("write");
		got = read(in, &byte, 1);
		if (got < 0)
			return fail("read");
		if (got != 1)
			return fail_check("the other process ended");
		if (byte != (unsigned char)~sent)
			return fail_check("byte %u came back as %u", sent, byte);
	}
	return 0;
}

/* Starts the other process, and has a byte back from it, untimed: now both are there. */
static inline int round_trip_start(void)
{
	int outcome = pair_start(serve);

	return outcome ? outcome : run(1);
}

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

#endif
