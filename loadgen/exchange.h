/* exchange.h -- connections to one server, and the request under way on each, in one thread.
 *
 * Who uses it begins requests, waits, and is told of each request's end once. An exchange is one
 * connection, or the place for one: it connects when a request begins without one.
 */
#ifndef STEELYARD_EXCHANGE_H
#define STEELYARD_EXCHANGE_H

#include <sys/epoll.h>

#include "client.h"
#include "response.h"
#include "stalls.h"

enum { EVENTS_MOST = 256, READ_MOST = 65536 };

enum exchange_state { EXCHANGE_IDLE, EXCHANGE_CONNECTING, EXCHANGE_SENDING, EXCHANGE_WAITING };

struct exchange {
	int                 file; /* -1 without a connection */
	enum exchange_state state;
	uint8_t             is_compared, differs, is_pausing;
	uint8_t             is_reused;  /* the connection has carried an answer before */
	uint8_t             is_ended;   /* the server has ended it, perhaps after an answer */
	uint32_t            connection; /* counts them, so that a late event is known as such */
	uint32_t    earlier, later;     /* in the order of their beginning, of those under way */
	const char *request;
	uint32_t    request_length, sent;
	uint32_t    what;                        /* for who uses it, as is_pausing */
	uint64_t    intended, started, connects; /* since when it connects */
	uint64_t expected; /* the body's length, if the caller knows it: only makes reading cheap */
	int      lacked;   /* of one that ended by FAILURE_OWN: which of own_limits */
	struct response response;
};

struct exchanges {
	const struct options *options;
	struct exchange      *all;
	unsigned              count, under_way;
	uint64_t              now;
	struct tally          tally; /* but for stalled_ns */
	struct stalls         stalls;
	uint64_t came;        /* when the ending request ended; for an answer, when it arrived */
	uint64_t ahead;       /* how far the clock of the kernel's stamps is ahead of ours */
	int      are_stamped; /* the kernel stamps arrivals */
	int      may_gather;  /* set by the caller: see exchanges_wait */
	unsigned got;         /* events of the last wait */
	uint64_t waited;      /* when that wait ended */
	double   gap_ns;      /* recent mean time between two events */
	uint32_t first, last; /* under way; `count`: none */
	int      poll;
	char     buffer[READ_MOST];

	/* The request has ended: `failure`, or FAILURES for a whole answer with a status of 2xx.
	 * The exchange is idle, and its response is still there. */
	void (*ended)(struct exchanges *exchanges, struct exchange *exchange, enum failure failure);
	/* Whether a body's bytes differ from what they should be. Asked of exchanges that are
	 * compared. */
	int (*differs)(struct exchanges *exchanges, const struct exchange *exchange,
	               uint64_t offset, const char *bytes, size_t length);
	/* Whether a whole body may have that length. */
	int (*is_length)(struct exchanges *exchanges, const struct exchange *exchange);
	void *context;
};

/* Returns 0, or an errno. The three functions and `context` are the caller's to set. */
int exchanges_make(struct exchanges *exchanges, const struct options *options, unsigned count);
void exchanges_free(struct exchanges *exchanges);

/* From now on the caller waits: it did something else before. */
void exchanges_resume(struct exchanges *exchanges);

/* Sends that request, which must stay where it is until it has ended. */
void exchange_begin(struct exchanges *exchanges, struct exchange *exchange, const char *request,
                    uint32_t length);
void exchange_disconnect(struct exchange *exchange);

/* Ends requests that take longer than the time allowed. */
void exchanges_give_up_overdue(struct exchanges *exchanges);
/* When the first of them will be; UINT64_MAX if none is under way. */
uint64_t exchanges_overdue(const struct exchanges *exchanges);

/* Waits up to that time. With `may_gather`, it first lets some of many answers arrive together, as
 * long as their arrival is stamped; that delays the requests that follow them. Returns how many
 * events there are, or -1 with errno. */
int exchanges_wait(struct exchanges *exchanges, struct epoll_event *events, uint64_t until);
void exchanges_handle(struct exchanges *exchanges, const struct epoll_event *event);

#endif
