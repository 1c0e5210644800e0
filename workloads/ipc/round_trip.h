/* round_trip.h -- a byte to another process and back: what the latency workloads of this group
 * share.
 *
 * The byte is another one each time and comes back as its complement, so that each round trip is
 * one of its own and has been in the other process.
 */
#ifndef STEELYARD_IPC_ROUND_TRIP_H
#define STEELYARD_IPC_ROUND_TRIP_H

#include <unistd.h>

#include "../api/workload.h"

/* The other process's work: until `in` ends, or a message of no bytes comes. */
static inline void answer(int in, int out)
{
	unsigned char byte;

	while (read(in, &byte, 1) == 1) {
		byte = (unsigned char)~byte;
		if (write(out, &byte, 1) != 1)
			return;
	}
}

static inline int round_trips(uint64_t operations, int out, int in)
{
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

#endif
