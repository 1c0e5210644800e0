/* remote.h -- a remote procedure call (ONC RPC, RFC 5531) with one number each way.
 *
 * The procedure takes a number and answers with the next one. The server is another process. Both
 * ends encode and decode the messages here (XDR, RFC 4506), and are the same in every build; or,
 * with library=1, Sun's RPC library does it, where the program was built with it.
 */
#ifndef STEELYARD_REMOTE_H
#define STEELYARD_REMOTE_H

#include <stdint.h>

#include "../api/workload.h"

enum transport { OVER_TCP, OVER_UDP };

/* A program number from the range that anybody may use. */
enum { REMOTE_PROGRAM = 0x20001990, REMOTE_VERSION = 1, REMOTE_NEXT = 1 };

extern uint64_t remote_library;

#define REMOTE_PARAMETERS                                                                  \
	NUMBER("library",                                                                  \
	       "1: the messages are made by the system's RPC library; 0: by this program", \
	       &remote_library, 0, 1)

/* Starts the server, makes a client for it, and calls its empty procedure once, so that it is
 * ready. Returns an outcome. */
int remote_start(enum transport transport);

/* A workload's run: calls the procedure `operations` times. */
int remote_call(uint64_t operations);

/* The procedure, which the server enters once per call. */
APART uint32_t remote_next(uint32_t number);

/* Ends the server: a workload's teardown. */
void remote_end(void);

/* The same by the library. */
int library_start(enum transport transport);
int library_call(uint64_t operations);
void library_end(void);

#endif
