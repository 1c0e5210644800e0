/* far.h -- the far end of a network workload: serves what the near end orders (order.h).
 *
 * The far end is a process of the trial (its partner) or of an agent on another host.
 */
#ifndef STEELYARD_FAR_H
#define STEELYARD_FAR_H

#include "order.h"

/* A socket that listens on that address at a port that the system chooses. Returns -1 with
 * errno. */
int far_listen(const char *address, uint16_t *port);

/* Serves the first near end that connects there and knows the token, until its control connection
 * ends. */
void far_serve(int listener, const char *token);

#endif
