/* response.h -- reads answers of HTTP/1.x as they come, piece by piece. */
#ifndef STEELYARD_RESPONSE_H
#define STEELYARD_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

/* An answer that has more of these is malformed: nothing else ends one whose server goes on for
 * ever. The body is one without a length, which the server did not announce. */
enum { HEAD_MOST = 16384, INTERIM_MOST = 16, TRAILERS_MOST = 16384 };
#define BODY_UNANNOUNCED_MOST (1ull << 30)
#define LENGTH_UNKNOWN        UINT64_MAX

enum response_state {
	RESPONSE_HEAD,       /* status and headers are not whole yet */
	RESPONSE_BODY,       /* of a known length */
	RESPONSE_UNTIL_END,  /* of the connection */
	RESPONSE_CHUNK_SIZE, /* a line with the size of the next piece */
	RESPONSE_CHUNK,
	RESPONSE_CHUNK_END, /* the empty line after a piece */
	RESPONSE_TRAILER,   /* lines after the last piece, up to an empty one */
	RESPONSE_WHOLE,
	RESPONSE_MALFORMED
};

struct response {
	enum response_state state;
	int                 status;
	int                 closes;   /* the server will close the connection */
	uint64_t            left;     /* of the body or the piece */
	uint64_t            received; /* bytes of the body */
	char               *head; /* what has come of a head or line that is not whole; or NULL */
	size_t              head_length;
	unsigned            interim;     /* answers of 1xx so far */
	size_t              trailers;    /* bytes so far */
	const char         *why;         /* malformed: what the server did, as "sent ..." */
	int                 is_bodiless; /* the answer to HEAD: a length in it is of no body */
	int lacks_memory; /* malformed for want of memory here, and not by the server */
};

/* Where a body's bytes go: `offset` from the body's beginning. */
typedef void response_body(void *context, uint64_t offset, const char *bytes, size_t length);

void response_begin(struct response *response, int is_bodiless);
void response_free(struct response *response);
/* Takes what has come. Bytes after a whole answer make it malformed: nothing was asked for them. */
void response_take(struct response *response, const char *bytes, size_t length, response_body *body,
                   void *context);
/* How many of the next bytes are the body's and nothing else; they may be skipped unread. */
uint64_t response_skippable(const struct response *response);
void response_skipped(struct response *response, uint64_t length);
/* The connection has ended. */
void response_end(struct response *response);

#endif
