/* rpc_udp -- call a procedure of another process over UDP, by ONC RPC.
 *
 * Measures     a remote procedure call with one number as its argument and one as its answer:
 *              encoding them and the head of the call independently of the machine (XDR), the way
 *              through the UDP and IP layers and the loopback interface, the server's loop that
 *              finds the procedure, and the same back; and the two wake-ups and switches of a
 *              hand-off. The messages are RFC 5531's, made and read by this program itself, alike
 *              in every build. With library=1, Sun's RPC library (libtirpc) makes them.
 * Leaves out   finding the server through the portmapper: the sockets are connected in setup. What
 *              libraries do beside: poll before each read, and look for answers to earlier calls.
 * Beware       with library=1 the library is part of what is measured, and a static program is
 *              built without it and says that the workload is unsupported (steelyard build --shared
 *              has it): libtirpc needs GSSAPI, which Debian has only as a shared library. If no
 *              answer comes within five seconds the trial fails. No packet leaves the machine.
 * After        lat_rpc of lmbench (McVoy and Staelin, 1996), which uses the system's library.
 */
#include "remote.h"

static int setup(void)
{
	return remote_start(OVER_UDP);
}

static const struct parameter parameters[] = { REMOTE_PARAMETERS, { 0 } };

static const struct call calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

const struct workload workload_rpc_udp = {
	.name = "rpc_udp",
	.group = "network",
	.summary = "a remote procedure call over UDP",
	.operation = "call",
	.setup = setup,
	.run = remote_call,
	.teardown = remote_end,
	.parameters = parameters,
	.calls = calls,
	.counted = (void (*)(void))remote_next,
};
