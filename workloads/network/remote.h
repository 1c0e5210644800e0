/* remote.h -- a remote procedure call by the system's RPC library.
 *
 * The procedure takes a number and answers with the next one. The server is another process, which
 * runs the library's own loop (svc_run). The library is libtirpc, Sun's RPC. A static program is
 * built without it (STEELYARD_RPC is not defined), because libtirpc needs GSSAPI, which Debian has
 * only as a shared library; remote_start then says so.
 */
#ifndef STEELYARD_REMOTE_H
#define STEELYARD_REMOTE_H

#include <stdint.h>

enum transport { OVER_TCP, OVER_UDP };

/* Starts the server, makes a client for it, and calls its empty procedure once, so that it is
 * ready. Returns an outcome. */
int remote_start(enum transport transport);

/* A workload's run: calls the procedure `operations` times. */
int remote_call(uint64_t operations);

/* The procedure, which the server enters once per call. */
__attribute__((noinline)) uint32_t remote_next(uint32_t number);

/* Ends the server: a workload's teardown. */
void remote_end(void);

#endif
