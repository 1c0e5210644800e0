/* exchange.c -- see exchange.h. */
#include "exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/posix/timespec.h"

enum {
	SKIP_LEAST = 4096,  /* so much of a body is left to the kernel to throw away */
	LONG_LEAST = 32768, /* of a body that long only the head is read, and what comes with it */
	HEAD_READ = 1024,
	READS_MOST = 16,       /* from one connection, before the others have their turn */
	GATHERED = 32,         /* a rest lasts until one answer in that many requests has come, */
	REST_LEAST_NS = 20000, /* but a shorter one costs more than it saves */
	REST_MOST_NS = 500000,
	SMOOTHED = 16,      /* the time between answers is averaged over that many waits */
	PORTS_EACH = 16000, /* connections from one address: Linux gives out 28,232 ports */
};

/* -- In the order of their beginning -- */

static void append(struct exchanges *exchanges, struct exchange *exchange)
{
	uint32_t own = (uint32_t)(exchange - exchanges->all);

	exchange->earlier = exchanges->last;
	exchange->later = exchanges->count;
	*(exchanges->last < exchanges->count ? &exchanges->all[exchanges->last].later
	                                     : &exchanges->first) = own;
	exchanges->last = own;
	exchanges->under_way++;
}

static void take_out(struct exchanges *exchanges, const struct exchange *exchange)
{
	uint32_t earlier = exchange->earlier, later = exchange->later;

	*(earlier < exchanges->count ? &exchanges->all[earlier].later : &exchanges->first) = later;
	*(later < exchanges->count ? &exchanges->all[later].earlier : &exchanges->last) = earlier;
	exchanges->under_way--;
}

uint64_t exchanges_overdue(const struct exchanges *exchanges)
{
	return exchanges->first < exchanges->count
	               ? exchanges->all[exchanges->first].started + exchanges->options->timeout_ns
	               : UINT64_MAX;
}

/* -- An exchange: connect, send, read -- */

void exchange_disconnect(struct exchange *exchange)
{
	if (exchange->file >= 0)
		close(exchange->file);
	exchange->file = -1;
	exchange->connection++;
}

static void end(struct exchanges *exchanges, struct exchange *exchange, enum failure failure)
{
	int is_closed = exchange->response.closes || exchange->is_ended ||
	                failure == FAILURE_CLOSED;
	int is_kept = exchanges->options->connection == CONNECTION_KEEP;

	exchanges->tally.closed += is_closed && is_kept;
	if (failure != FAILURES || is_closed || exchange->sent < exchange->request_length ||
	    !is_kept)
		exchange_disconnect(exchange);
	exchange->is_reused = 1;
	exchange->state = EXCHANGE_IDLE;
	take_out(exchanges, exchange);
	exchanges->ended(exchanges, exchange, failure);
}

/* By what a call of this side failed with: for want of something here, or else as `failure`. */
static void end_by(struct exchanges *exchanges, struct exchange *exchange, int error,
                   enum failure failure)
{
	exchange->lacked = own_limit_of(error);
	end(exchanges, exchange, exchange->lacked >= 0 ? FAILURE_OWN : failure);
}

/* Registers a connection once and for all. Epoll reports an edge once, and does not look at each
 * reported connection again at the next wait; so the handler must read or send until nothing is
 * left. */
static int register_file(struct exchanges *exchanges, struct exchange *exchange, int operation)
{
	uint64_t           own = (uint64_t)(exchange - exchanges->all);
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		                     .data.u64 = own << 32 | exchange->connection };

	return epoll_ctl(exchanges->poll, operation, exchange->file, &event);
}

/* More connections to one loopback port than an address has ports go out from 127.0.0.2 and so
 * on. */
static int choose_source(const struct exchanges *exchanges, const struct exchange *exchange)
{
	const struct sockaddr_in *server = (const struct sockaddr_in *)&exchanges->options->address;
	struct sockaddr_in        source = { .sin_family = AF_INET };
	uint32_t                  number = (uint32_t)(exchange - exchanges->all) / PORTS_EACH;
	int                       one = 1;

	if (!number || server->sin_family != AF_INET || ntohl(server->sin_addr.s_addr) >> 24 != 127)
		return 0;
	source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number);
#ifdef IP_BIND_ADDRESS_NO_PORT
	setsockopt(exchange->file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
#else
	(void)one;
#endif
	return bind(exchange->file, (const struct sockaddr *)&source, sizeof(source));
}

static void connect_to_server(struct exchanges *exchanges, struct exchange *exchange)
{
	const struct options *options = exchanges->options;
	int                   one = 1;

	exchange->file = socket(options->address.ss_family,
	                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (exchange->file < 0)
		return end_by(exchanges, exchange, errno, FAILURE_CONNECT);
	setsockopt(exchange->file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(exchange->file, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	exchange->state = EXCHANGE_CONNECTING;
	exchange->connects = exchanges->now;
	exchange->is_reused = exchange->is_ended = 0;
	if (choose_source(exchanges, exchange) ||
	    (connect(exchange->file, (const struct sockaddr *)&options->address,
	             options->address_length) &&
	     errno != EINPROGRESS) ||
	    register_file(exchanges, exchange, EPOLL_CTL_ADD))
		return end_by(exchanges, exchange, errno, FAILURE_CONNECT);
}

/* A server may close a connection that was used before at the moment when it is used again: then
 * the request goes once more, over a new one, and its time goes on. */
static void lose_connection(struct exchanges *exchanges, struct exchange *exchange, int error)
{
	const struct response *response = &exchange->response;

	if (exchange->state == EXCHANGE_CONNECTING || own_limit_of(error) >= 0)
		return end_by(exchanges, exchange, error, FAILURE_CONNECT);
	if (!exchange->is_reused || response->state != RESPONSE_HEAD || response->head_length)
		return end(exchanges, exchange, FAILURE_CLOSED);
	exchanges->tally.closed++;
	exchanges->tally.resent++;
	exchange_disconnect(exchange);
	exchange->sent = 0;
	connect_to_server(exchanges, exchange);
}

static void send_request(struct exchanges *exchanges, struct exchange *exchange)
{
	ssize_t sent;

	do {
		sent = send(exchange->file, exchange->request + exchange->sent,
		            exchange->request_length - exchange->sent, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return lose_connection(exchanges, exchange, errno);
		exchange->sent += sent > 0 ? (uint32_t)sent : 0;
	} while (exchange->sent < exchange->request_length && (sent >= 0 || errno == EINTR));
	exchange->state = exchange->sent == exchange->request_length ? EXCHANGE_WAITING
	                                                             : EXCHANGE_SENDING;
}

void exchange_begin(struct exchanges *exchanges, struct exchange *exchange, const char *request,
                    uint32_t length)
{
	exchange->request = request;
	exchange->request_length = length;
	exchange->sent = 0;
	exchange->started = exchanges->came = exchanges->now;
	exchange->differs = 0;
	response_begin(&exchange->response, !strncmp(request, "HEAD ", 5));
	append(exchanges, exchange);
	if (exchange->file < 0)
		connect_to_server(exchanges, exchange);
	else
		send_request(exchanges, exchange);
}

struct comparison {
	struct exchanges *exchanges;
	struct exchange  *exchange;
};

static void compare(void *context, uint64_t offset, const char *bytes, size_t length)
{
	struct comparison *of = context;

	if (!of->exchange->differs)
		of->exchange->differs = (uint8_t)of->exchanges->differs(of->exchanges, of->exchange,
		                                                        offset, bytes, length);
}

/* Reads once. Takes from the kernel, if it knows, the moment when the last of these bytes arrived:
 * an answer that waits to be read is not slower for that. */
static ssize_t receive(struct exchanges *exchanges, int file, void *into, size_t room, int flags)
{
	union {
		char           bytes[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr first;
	} control;
	struct iovec          piece = { into, room };
	struct msghdr         message = { .msg_iov = &piece,
		                          .msg_iovlen = 1,
		                          .msg_control = &control,
		                          .msg_controllen = sizeof(control) };
	ssize_t               got = recvmsg(file, &message, flags);
	const struct cmsghdr *note = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	struct timespec       came;

	if (!note || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SO_TIMESTAMPNS)
		return got;
	memcpy(&came, CMSG_DATA(note), sizeof(came));
	exchanges->came = timespec_ns(came) - exchanges->ahead;
	exchanges->are_stamped = 1;
	return got;
}

/* Reads once. What only fills a body that is not compared is thrown away by the kernel. */
static ssize_t read_some(struct exchanges *exchanges, struct exchange *exchange)
{
	struct response *response = &exchange->response;
	uint64_t         skippable = exchange->is_compared ? 0 : response_skippable(response);
	size_t           room = sizeof(exchanges->buffer);
	ssize_t          got;

	if (skippable >= SKIP_LEAST && skippable != UINT64_MAX) {
		got = receive(exchanges, exchange->file, NULL,
		              skippable < 1 << 30 ? (size_t)skippable : 1 << 30, MSG_TRUNC);
		if (got > 0)
			response_skipped(response, (uint64_t)got);
		if (got >= 0 || errno != EFAULT)
			return got;
	}
	if (!exchange->is_compared && response->state == RESPONSE_HEAD &&
	    exchange->expected >= LONG_LEAST)
		room = HEAD_READ;
	got = receive(exchanges, exchange->file, exchanges->buffer, room, 0);
	if (got > 0) {
		struct comparison comparison = { exchanges, exchange };

		response_take(response, exchanges->buffer, (size_t)got,
		              exchange->is_compared ? compare : NULL, &comparison);
	}
	return got;
}

static enum failure failure_of(struct exchanges *exchanges, const struct exchange *exchange)
{
	if (exchange->response.state == RESPONSE_MALFORMED)
		return FAILURE_MALFORMED;
	if (failure_of_status(exchange->response.status) != FAILURES)
		return failure_of_status(exchange->response.status);
	if (!exchanges->is_length(exchanges, exchange))
		return FAILURE_LENGTH;
	return exchange->differs ? FAILURE_BODY : FAILURES;
}

/* Returns whether there may be more to read. */
static int read_once(struct exchanges *exchanges, struct exchange *exchange)
{
	ssize_t got = read_some(exchanges, exchange);
	int     error = errno;

	if (got < 0 && (error == EAGAIN || error == EINTR))
		return error == EINTR;
	if (exchange->state != EXCHANGE_WAITING && exchange->state != EXCHANGE_SENDING) {
		/* It was not asked: the server has closed an idle connection, or talks out of turn.
		 */
		exchange_disconnect(exchange);
		exchanges->tally.closed++;
		return 0;
	}
	if (exchanges->came > exchanges->now || exchanges->came < exchange->started)
		exchanges->came = exchanges->now;
	if (got == 0)
		response_end(&exchange->response);
	if (exchange->response.lacks_memory)
		end_by(exchanges, exchange, ENOMEM, FAILURE_MALFORMED);
	else if (exchange->response.state == RESPONSE_MALFORMED ||
	         exchange->response.state == RESPONSE_WHOLE)
		end(exchanges, exchange, failure_of(exchanges, exchange));
	else if (got <= 0)
		lose_connection(exchanges, exchange, got < 0 ? error : 0);
	else
		return 1;
	return 0;
}

/* Reads all that is there; if that does not end, others come first. */
static void read_answer(struct exchanges *exchanges, struct exchange *exchange)
{
	for (int i = 0; i < READS_MOST; i++)
		if (!read_once(exchanges, exchange))
			return;
	if (register_file(exchanges, exchange, EPOLL_CTL_MOD))
		end_by(exchanges, exchange, errno, FAILURE_CONNECT);
}

/* Why its connection did not come about. */
static int error_of(const struct exchange *exchange)
{
	int       error = 0;
	socklen_t length = sizeof(error);

	return getsockopt(exchange->file, SOL_SOCKET, SO_ERROR, &error, &length) ? errno : error;
}

void exchanges_handle(struct exchanges *exchanges, const struct epoll_event *event)
{
	struct exchange *exchange = &exchanges->all[event->data.u64 >> 32];

	exchanges->now = exchanges->came = clock_ns();
	if (exchange->connection != (uint32_t)event->data.u64)
		return; /* it was given up while its event waited to be read */
	if (exchange->state == EXCHANGE_CONNECTING && (event->events & (EPOLLERR | EPOLLHUP)))
		return end_by(exchanges, exchange, error_of(exchange), FAILURE_CONNECT);
	if ((event->events & EPOLLOUT) && exchange->state == EXCHANGE_CONNECTING) {
		exchanges->tally.connections++;
		exchanges->tally.connecting_ns += exchanges->now - exchange->connects;
	}
	if ((event->events & EPOLLOUT) &&
	    (exchange->state == EXCHANGE_CONNECTING || exchange->state == EXCHANGE_SENDING))
		send_request(exchanges, exchange);
	if (exchange->connection != (uint32_t)event->data.u64)
		return;
	exchange->is_ended |= (event->events & EPOLLRDHUP) != 0;
	if (event->events & ~(uint32_t)EPOLLOUT)
		read_answer(exchanges, exchange);
}

/* -- Time -- */

void exchanges_give_up_overdue(struct exchanges *exchanges)
{
	exchanges->came = exchanges->now;
	while (exchanges_overdue(exchanges) < exchanges->now)
		end(exchanges, &exchanges->all[exchanges->first], FAILURE_TIMEOUT);
}

/* To the nanosecond where the kernel can (Linux 5.11), else to the millisecond below. */
static int wait_for_events(struct exchanges *exchanges, struct epoll_event *events, uint64_t until)
{
	uint64_t        left = until > exchanges->now ? until - exchanges->now : 0;
	struct timespec limit = { (time_t)(left / SECOND_NS), (long)(left % SECOND_NS) };
	int             got;

#ifdef SYS_epoll_pwait2
	got = (int)syscall(SYS_epoll_pwait2, exchanges->poll, events, EVENTS_MOST, &limit, NULL, 0);
	if (got >= 0 || errno != ENOSYS)
		return got;
#else
	(void)limit;
#endif
	got = epoll_wait(exchanges->poll, events, EVENTS_MOST, (int)(left / 1000000));
	return got;
}

/* Lets answers gather, so that the server need not wake this thread for each of them. The rest ends
 * when about one in GATHERED of the requests under way has its answer; the next requests are late
 * by half of it in the mean. A server with a queue does not notice, and latencies are stamped by
 * the kernel. */
static void rest(struct exchanges *exchanges, uint64_t until)
{
	uint64_t rests = (uint64_t)(exchanges->gap_ns * exchanges->under_way / GATHERED);
	uint64_t ends = exchanges->now + (rests < REST_MOST_NS ? rests : REST_MOST_NS);

	if (!exchanges->are_stamped || exchanges->got * GATHERED >= exchanges->under_way ||
	    rests < REST_LEAST_NS || ends > until)
		return;
	nanosleep(&(struct timespec){ 0, (long)(ends - exchanges->now) }, NULL);
}

void exchanges_resume(struct exchanges *exchanges)
{
	exchanges->now = exchanges->waited = clock_ns();
}

int exchanges_wait(struct exchanges *exchanges, struct epoll_event *events, uint64_t until)
{
	uint64_t now;
	int      got;

	stalls_note(&exchanges->stalls, exchanges->waited, exchanges->now);
	if (exchanges->may_gather)
		rest(exchanges, until);
	if (until > exchanges->now + HEARTBEAT_NS)
		until = exchanges->now + HEARTBEAT_NS;
	got = wait_for_events(exchanges, events, until);
	now = clock_ns();
	stalls_note(&exchanges->stalls, until > exchanges->now ? until : exchanges->now, now);
	exchanges->ahead = clock_wall_ns() - now;
	exchanges->got = got > 0 ? (unsigned)got : 0;
	if (got > 0)
		exchanges->gap_ns += ((double)(now - exchanges->waited) / got - exchanges->gap_ns) /
		                     SMOOTHED;
	exchanges->waited = now;
	return got;
}

/* -- From the beginning to the end -- */

int exchanges_make(struct exchanges *exchanges, const struct options *options, unsigned count)
{
	*exchanges = (struct exchanges){
		.options = options, .count = count, .first = count, .last = count, .poll = -1
	};
	exchanges->all = calloc(count, sizeof(*exchanges->all));
	if (!exchanges->all)
		return ENOMEM;
	for (unsigned i = 0; i < count; i++)
		exchanges->all[i].file = -1;
	exchanges->poll = epoll_create1(EPOLL_CLOEXEC);
	return exchanges->poll < 0 ? errno : 0;
}

void exchanges_free(struct exchanges *exchanges)
{
	for (unsigned i = 0; exchanges->all && i < exchanges->count; i++) {
		exchange_disconnect(&exchanges->all[i]);
		response_free(&exchanges->all[i].response);
	}
	if (exchanges->poll >= 0)
		close(exchanges->poll);
	free(exchanges->all);
	exchanges->all = NULL;
}
