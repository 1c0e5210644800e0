/* http.h -- a request by HTTP/1.0, and the small server that answers it.
 *
 * In an operation the client connects, asks (GET /SIZE), reads the status, the headers and a body
 * of SIZE bytes, and ends the connection. The server, another process, accepts, reads up to the
 * empty line, takes the number from the request line, answers from memory, and waits for the end.
 */
#ifndef STEELYARD_HTTP_H
#define STEELYARD_HTTP_H

#include "../api/workload.h"

enum { HTTP_BODY_MOST = 1048576 };

/* Starts the server, and fetches `size` bytes once, so that it is ready. Returns an outcome. */
int http_start(uint64_t size);

/* A workload's run: asks and reads the answer, `operations` times. */
int http_get(uint64_t operations);

/* The calls that an operation makes at both ends. */
extern const struct call http_calls[];

/* Ends the server: a workload's teardown. */
void http_end(void);

#endif
