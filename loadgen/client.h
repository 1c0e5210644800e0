/* client.h -- what is asked of the load generator, and what it found.
 *
 * The load generator sends HTTP requests to one server: by N clients that each wait for their
 * answer (closed), or at times drawn in advance whatever the server does (open). All times are
 * nanoseconds on CLOCK_MONOTONIC.
 */
#ifndef STEELYARD_CLIENT_H
#define STEELYARD_CLIENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../base/clock.h"
#include "../base/histogram.h"
#include "limits.h"

enum connection { CONNECTION_KEEP, CONNECTION_NEW, CONNECTION_HTTP10 };
enum spread { SPREAD_CONSTANT, SPREAD_EXPONENTIAL };

struct options {
	struct sockaddr_storage address;
	socklen_t               address_length;
	const char             *host; /* for the Host header */
	const char             *path;
	const char             *method;  /* NULL: GET, or POST if there are data */
	const char             *headers; /* further lines, each with \r\n at its end; or NULL */
	const char             *data;    /* the request's body, or NULL */
	size_t                  data_length;
	unsigned                clients, threads;
	enum connection         connection;
	uint64_t                warmup_ns, window_ns, timeout_ns;
	uint64_t                think_ns; /* mean pause of a client between answer and request */
	enum spread             think;
	double                  rate; /* requests a second; 0: closed, by the clients' own pace */
	enum spread             arrivals;
	double                  verified; /* share of the bodies that are compared byte by byte */
	uint64_t                seed;
	/* When the last answer to any of the load's loops arrived; NULL if there is one loop. */
	_Atomic uint64_t *answered;
};

/* The body that every answer must have; without one (it changes) only its length may be known. */
struct reference {
	unsigned char *body;
	size_t         length;
	int            is_fixed;
};

enum failure {
	FAILURE_CONNECT,               /* no connection */
	FAILURE_TIMEOUT,               /* no whole answer in time */
	FAILURE_CLOSED,                /* the connection ended within an answer */
	FAILURE_MALFORMED,             /* no HTTP */
	FAILURE_REDIRECT,              /* a status of 3xx */
	FAILURE_CLIENT_ERROR,          /* 4xx: the request is at fault */
	FAILURE_SERVER_ERROR,          /* 5xx: the server is */
	FAILURE_STATUS,                /* another status than 2xx */
	FAILURE_LENGTH,                /* a body of another length */
	FAILURE_BODY,                  /* a body of other bytes */
	SERVER_FAILURES,               /* the number of kinds that are the server's, */
	FAILURE_OWN = SERVER_FAILURES, /* and this is the load generator's: what it lacked
	                                  (limits.h) */
	FAILURES
};
extern const char *const failure_names[FAILURES];

/* After its window an open load goes on for up to this part of it, by what waits for a client. */
enum { DRAIN_PART = 4 };
enum { SECONDS_MOST = 3600, REFERENCE_REQUESTS = 2, REQUEST_MOST = 8192 };

/* What connections a load needed, and how long the load generator did not run; before and after the
 * window too. */
struct tally {
	uint64_t connections;   /* opened, */
	uint64_t connecting_ns; /* in so much time together, which is in their requests' latency */
	uint64_t closed;        /* by the server, though they were to be kept */
	uint64_t resent; /* requests that went once more, for such a one was lost with them */
	uint64_t stalled_ns;
};

/* What quantiles do not show. Quantiles count requests, and who waits makes none. */
struct waits {
	/* The longest of a request of which any time was in the window, from when it was to be sent
	 * to its end, or so far; and the silences of at least SILENCE_LEAST_NS: in which requests
	 * waited, and nothing was answered. Both without the time in which the load generator did
	 * not run. */
	uint64_t         longest_ns;
	struct histogram silences;
	uint64_t         span_ns; /* of a load by number: its time */
	struct tally     tally;
};

/* A silence is known to within TOGETHER_NS: answers that follow each other so closely are one. With
 * several loops, one begins when the request was sent whose answer ends it, or an earlier one of
 * the same loop. */
enum { SILENCE_LEAST_NS = 10000000, TOGETHER_NS = 1000000 };

/* What one second of the window saw. */
struct second {
	uint64_t answers, bytes, failures;
};

/* What one loop found in the window. An answer counts where it came; its latency is kept if it was
 * to start in the window, and so is that of a request that failed. A failure counts if any of its
 * time was in the window: of a server that hangs there is nothing else. A request that the own side
 * could not make is in no count but its own. */
struct result {
	uint64_t     answers, bytes, failures[FAILURES], verified;
	uint64_t     lacked[OWN_LIMITS]; /* what the failures of the own side were for */
	const char  *malformed; /* what the first answer was that is no HTTP: "sent ..."; or NULL */
	uint64_t     requests;  /* that ended at any time, before and after the window too */
	uint64_t     started;   /* requests whose time was in the window */
	uint64_t     unsent;    /* more of these, for which no client was free until the end */
	uint64_t     waited;    /* and those that had to wait for a free client */
	uint64_t     latency_ns; /* of all that latency counts, together */
	uint64_t     user_ns, system_ns;
	struct waits waits;
	struct histogram latency;  /* from the moment when it was sent */
	struct histogram intended; /* from the moment when it was to be sent; of one unsent, to the
	                              end */
	struct histogram lag; /* the same to the sending, where a client was free; of a schedule or
	                         pauses */
	struct histogram object;  /* of SURGE: while files of an object were under way */
	uint64_t         objects; /* that ended in the window, */
	uint64_t objects_begun, objects_failed; /* began there, and ended without all files being
	                                           right */
	uint64_t objects_lost;                  /* ended so for want of something on the own side */
	uint64_t sequence_permille; /* of its sequence of references, that the quickest loop has
	                               gone through */
	struct second seconds[SECONDS_MOST];
	int           broken; /* an errno that ended the loop; 0 */
};

/* Writes the request for that kind of connection, with its body, into `room` bytes, of which its
 * head may have REQUEST_MOST. Returns its length, or -1 with errno. */
int request_write(const struct options *options, enum connection connection, char *into,
                  size_t room);
/* Whether the headers set this one, as "Host". */
int request_has(const struct options *options, const char *header);
/* The failure that an answer with this status is; FAILURES: none. */
enum failure failure_of_status(int status);

/* Fetches the body twice, by a connection each. Returns 0, or -1 with a sentence in `why`. */
int reference_fetch(const struct options *options, struct reference *reference, char *why,
                    size_t room);

/* Runs clients `first` to `first + count - 1` from `began` on until the window is over. */
/* The time in silences that are longer than a slow answer: than SILENCE_LEAST_NS, and ten times the
 * median latency. A server whose every answer takes long does not stand still. */
uint64_t result_silent_ns(const struct result *result);

void loop_run(const struct options *options, const struct reference *reference, unsigned first,
              unsigned count, uint64_t began, struct result *result);

/* The same by number in place of time: each loop_perform has all clients together make that many
 * requests more, over the connections that they have kept, and returns when each has ended; after
 * one that fails none begins. What they find is added to the result, without warm-up, window and
 * seconds. The first returns NULL with errno, the second an errno or 0. */
struct loop *loop_open(const struct options *options, const struct reference *reference,
                       struct result *result);
int loop_perform(struct loop *loop, uint64_t requests);
void loop_close(struct loop *loop);

#endif
