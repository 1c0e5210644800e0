/* order.h -- what the near end asks of the far end, as a line of text on the control connection.
 *
 * Every connection begins with a message that has the trial's token (see door.h); on this one the
 * order follows. The far end answers "port N" or "no REASON", and serves at that port of the
 * address by which it was reached. Then "cost" is answered by what it has used so far. It ends with
 * the control connection.
 */
#ifndef STEELYARD_ORDER_H
#define STEELYARD_ORDER_H

#include <stdint.h>

/* Whatever the near end sends over TCP besides its data takes this many bytes, or a multiple. Linux
 * copies what a thread sends, over whichever socket, into pages one after the other. To places that
 * do not begin where a line of the cache does, some processors (AMD's Zen 4) may copy at a quarter
 * of their speed: behind messages of 8 bytes one batch in five took twice as long. */
enum { MESSAGE_BYTES = 64 };

enum { TOKEN_ROOM = MESSAGE_BYTES - 1, CONGESTION_ROOM = 17, ORDER_LINE = 512 };

/* What comes before a flow's data: its role and the token, once, which come back; or a batch's
 * number of bytes, in the network's order. A flow of datagrams begins with the same message as a
 * datagram, and then hears only who has sent it. */
union message {
	struct {
		char role;
		char token[TOKEN_ROOM]; /* filled up with zeros */
	} is;
	uint64_t bytes;
	char     all[MESSAGE_BYTES];
};

/* What waits at the port. */
enum service {
	SERVE_FLOWS,       /* TCP: a connection's first message comes back */
	SERVE_CONNECTIONS, /* TCP: a request and its response over each; without one, its end */
	SERVE_DATAGRAMS,   /* UDP: `flows` sockets, at ports one after another */
};

/* The role of a flow's socket, in the words of the near end. */
enum role {
	ROLE_TRANSACTIONS = 't', /* requests, each answered by a response */
	ROLE_SEND = 's',    /* a count, then that many bytes; the far end answers by one byte */
	ROLE_RECEIVE = 'r', /* a count, which the far end answers with that many bytes */
	ROLE_IDLE = 'i',    /* nothing */
	ROLE_CONTROL = 'c', /* the order, and what follows it */
};

struct order {
	enum service service;
	enum role    role;              /* of datagrams */
	uint64_t     request, response; /* bytes; of a stream, in a write of the near and far end */
	uint64_t     buffer;            /* of a socket, in bytes; 0: the system's */
	uint64_t     at_once;           /* TCP_NODELAY */
	uint64_t     goodbye;           /* of connections: 0: the near end resets them */
	uint64_t     flows;
	uint64_t     idle;     /* connections beside */
	uint64_t     read;     /* of a stream: bytes of a read, at most */
	uint64_t     is_alone; /* both ends are in a network that nobody else can reach */
	char         congestion[CONGESTION_ROOM]; /* "": the system's */
};

/* Its numbers, in the order in which they are told. */
enum { ORDER_NUMBERS = 9 };
static inline uint64_t *order_number(struct order *order, unsigned which)
{
	uint64_t *const numbers[ORDER_NUMBERS] = {
		&order->request, &order->response, &order->buffer, &order->at_once, &order->goodbye,
		&order->flows,   &order->idle,     &order->read,   &order->is_alone
	};

	return numbers[which];
}

/* At most; either end has them. */
static inline uint64_t order_connections(const struct order *order)
{
	return order->idle + 2 * order->flows;
}

/* What the process of an end has used so far, all its threads. How this divides into user and
 * system time is known only from samples, tick by tick; the sum is the scheduler's, to the
 * nanosecond. */
struct cost {
	uint64_t used_ns;
	uint64_t datagrams; /* that have come */
};

/* A datagram of a stream begins so, in the network's order of bytes: the goal is how many of the
 * batch are to arrive. The far end tells by the same head that they have. */
struct datagram_head {
	uint32_t batch, goal;
};

#endif
