/* http.h -- a request by HTTP/1.0, and the small server that answers it.
 *
 * An operation: the client connects, asks (GET /SIZE), reads the status, the headers and a body of
 * SIZE bytes, and ends the connection; the server, another process, accepts, reads until the empty
 * line, takes the number from the request line, answers, and waits for the end. The body comes from
 * memory.
 */
#ifndef STEELYARD_HTTP_H
#define STEELYARD_HTTP_H

#include "../api/workload.h"

enum { HTTP_BODY_MOST = 1048576 };

/* Starts the server, and gets `size` bytes once, so that it is there. Returns an outcome. */
int http_start(uint64_t size);

/* Asks and reads the answer, `operations` times: a workload's run. */
int http_get(uint64_t operations);

/* The calls that an operation makes at both ends. */
extern const struct call http_calls[];

/* Ends the server: a workload's teardown. */
void http_end(void);

#endif
