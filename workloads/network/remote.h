/* remote.h -- a remote procedure call by the system's RPC library.
 *
 * The procedure takes a number and answers with the next; the server is another process, and runs
 * the library's own loop (svc_run). The library is Sun RPC as libtirpc has it. A program that is
 * linked statically is built without it (STEELYARD_RPC is not defined): libtirpc needs GSSAPI,
 * which Debian has as a shared library only. There remote_start says so.
 */
#ifndef STEELYARD_REMOTE_H
#define STEELYARD_REMOTE_H

#include <stdint.h>

enum transport { OVER_TCP, OVER_UDP };

/* Starts the server, makes a client for it, and calls its empty procedure once, so that it is
 * there. Returns an outcome. */
int remote_start(enum transport transport);

/* Calls the procedure, `operations` times: a workload's run. */
int remote_call(uint64_t operations);

/* What the procedure does: the server enters it once a call. */
__attribute__((noinline)) uint32_t remote_next(uint32_t number);

/* Ends the server: a workload's teardown. */
void remote_end(void);

#endif
