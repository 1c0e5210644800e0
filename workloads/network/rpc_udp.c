/* rpc_udp -- call a procedure of another process through the RPC library, over UDP.
 *
 * Measures     a remote procedure call with one number as its argument and one as its answer:
 *              encoding them and the head of the call independently of the machine (XDR), the way
 *              through the UDP and IP layers and the loopback interface, the server's loop that
 *              finds the procedure, and the same back; and the two wake-ups and switches of a
 *              hand-off. The library is libtirpc, Sun's RPC.
 * Leaves out   finding the server through the portmapper: the client gets the address in setup.
 * Beware       if no answer comes within five seconds the trial fails, before the library would
 *              repeat the question. A static program is built without the library, and says that
 *              the workload is unsupported: libtirpc needs GSSAPI, which Debian has only as a
 *              shared library. The library is part of what is measured. No packet leaves the
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
