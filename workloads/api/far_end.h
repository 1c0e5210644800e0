/* far_end.h -- the far end of network workloads as a server, which an agent starts on request. */
#ifndef STEELYARD_API_FAR_END_H
#define STEELYARD_API_FAR_END_H

#include <stdint.h>

enum { FAR_ADDRESS_ROOM = 64 };

/* Starts a process that serves near ends that know the token, until this process ends. It listens
 * on that address alone; "-" stands for the one by which ssh has reached this host, or else
 * 127.0.0.1. Returns an outcome, and which address and port it is. */
int far_end_start(const char *address, const char *token, char chosen[FAR_ADDRESS_ROOM],
                  uint16_t *port);

#endif
