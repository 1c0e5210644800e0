/* running.h -- a web server that runs already: its description says where it is and what to ask.
 *
 * Such a description has an entry `running ADDRESS`, and `port`, `host`, `path`; as wanted, `allow
 * ADDRESS` (which must repeat an address that is not loopback), `method`, `header` (several),
 * `data` with its lines or `data_file PATH`, and `pid`, the server's first process.
 */
#ifndef STEELYARD_SERVER_RUNNING_H
#define STEELYARD_SERVER_RUNNING_H

#include <sys/types.h>

#include "../../loadgen/client.h"

/* Whether the workload's server is such a one. */
int running_is_described(void);
/* Reads the description. Returns an outcome. */
int running_prepare(void);
/* Where the server is, and the request. */
void running_options(struct options *options);
/* The server's first process; 0: not known. */
pid_t running_pid(void);

#endif
