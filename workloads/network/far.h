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

/* Serves one near end over an accepted control connection, until that ends. */
void far_serve(int control, const char *token);

#endif
