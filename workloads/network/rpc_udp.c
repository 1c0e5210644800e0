/* rpc_udp -- call a procedure of another process through the RPC library, over UDP.
 *
 * Measures     a remote procedure call with one number as argument and one as answer: making them
 *              machine-independent (XDR) and the call's head, the way through the UDP and IP layers
 *              and the loopback interface, the server's loop that finds the procedure, and the same
 *              back; and the two wake-ups and switches of a hand-off. Sun RPC as libtirpc has it.
 * Leaves out   finding the server by the portmapper: the client is given the address in setup.
 * Beware       an answer that has not come after five seconds fails the trial, before the library
 *              would send its question again. A program that is linked statically is built without
 *              the library, and says unsupported: libtirpc needs GSSAPI, which Debian has as a
 *              shared library only. The library is part of what is measured. No packet leaves the
 *              machine.
 * After        lat_rpc of lmbench (McVoy and Staelin, 1996).
 */
#include "../api/workload.h"
#include "remote.h"

static int setup(void)
{
	return remote_start(OVER_UDP);
}

const struct workload workload_rpc_udp = {
	.name      = "rpc_udp",
	.group     = "network",
	.summary   = "a remote procedure call over UDP",
	.operation = "call",
	.setup     = setup,
	.run       = remote_call,
	.teardown  = remote_end,
	.counted   = (void (*)(void))remote_next,
};
