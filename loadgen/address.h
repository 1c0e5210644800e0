/* address.h -- a server's numeric address: IPv4 or IPv6, with a zone behind % where it needs one.
 */
#ifndef STEELYARD_ADDRESS_H
#define STEELYARD_ADDRESS_H

#include <stdint.h>

#include "client.h"

enum { ADDRESS_NONE, ADDRESS_NO_ZONE, ADDRESS_LOOPBACK, ADDRESS_OTHER };

/* Sets the options' address. Returns what it is: ADDRESS_NONE for a text that is none, and
 * ADDRESS_NO_ZONE where this system has no such network interface. */
int address_read(const char *text, uint16_t port, struct options *options);

#endif
