/* smtp.h -- the client's side of the Simple Mail Transfer Protocol (RFC 5321), without
 * extensions. */
#ifndef STEELYARD_SERVER_SMTP_H
#define STEELYARD_SERVER_SMTP_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

/* Connects, reads the greeting and says EHLO. Functions return outcomes. */
int smtp_open(struct wire *wire, uint16_t port, uint64_t timeout_ms);

/* One message. Its bytes end with a line's end, and none of its lines begins with a dot. Returns
 * when the server has accepted it. */
struct message {
	const char *from, *to;
	const char *bytes;
	size_t      count;
};
int smtp_send(struct wire *wire, const struct message *message);

/* Says QUIT, waits for the farewell, and closes. */
int smtp_quit(struct wire *wire);

#endif
