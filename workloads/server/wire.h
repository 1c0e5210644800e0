/* wire.h -- a TCP connection to a server on this machine, for protocols of questions and answers.
 *
 * What a server sends is data to be distrusted: functions fail with a sentence where it ends too
 * early, takes too long, or sends more than there is room for. They return outcomes (workload.h).
 */
#ifndef STEELYARD_SERVER_WIRE_H
#define STEELYARD_SERVER_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { WIRE_MOST = 65536 };

struct wire {
	int           socket;     /* -1: closed */
	size_t        begin, end; /* of what has come and was not taken */
	uint64_t      timeout_ms;
	uint64_t      until_ns;  /* the answer under way must be whole; 0: none is waited for */
	int           has_begun; /* some of it has come */
	unsigned char bytes[WIRE_MOST + 1];
};

/* A whole answer may take so long, from the last question (or the connection) on, however many
 * pieces and lines it comes in. What this side lacks is told apart from what the server does. */
int wire_open(struct wire *wire, uint16_t port, uint64_t timeout_ms);
/* Safe on one that is closed. */
void wire_close(struct wire *wire);
int wire_send(struct wire *wire, const void *bytes, size_t count);
/* The next `count` bytes, at most WIRE_MOST. They stay until the next call. */
int wire_take(struct wire *wire, size_t count, unsigned char **bytes);
/* The next line, without its end. It stays until the next call. */
int wire_line(struct wire *wire, char **line);

#endif
