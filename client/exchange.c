/* exchange.c -- see exchange.h. */
#include "exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SKIP_LEAST = 4096,    /* so much of a body is left to the kernel to throw away */
	LONG_LEAST = 32768,   /* of a body that long only the head is read, and what comes with it */
	HEAD_READ = 1024,
	PORTS_EACH = 16000,   /* connections from one address: Linux gives out 28,232 ports */
};

/* -- In the order of their beginning -- */

static void append(struct exchanges *exchanges, struct exchange *exchange)
{
	uint32_t own = (uint32_t)(exchange - exchanges->all);

	exchange->earlier = exchanges->last;
	exchange->later = exchanges->count;
	*(exchanges->last < exchanges->count ? &exchanges->all[exchanges->last].later : &exchanges->first) = own;
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
	if (failure != FAILURES || exchange->response.closes || exchanges->options->connection != CONNECTION_KEEP)
		exchange_disconnect(exchange);
	exchange->is_reused = 1;
	exchange->state = EXCHANGE_IDLE;
	take_out(exchanges, exchange);
	exchanges->ended(exchanges, exchange, failure);
}

static int listen_for(struct exchanges *exchanges, struct exchange *exchange, uint32_t on, int operation)
{
	uint64_t           own = (uint64_t)(exchange - exchanges->all);
	struct epoll_event event = {.events = on, .data.u64 = own << 32 | exchange->connection};

	return epoll_ctl(exchanges->poll, operation, exchange->file, &event);
}

/* More connections to one loopback port than an address has ports go out from 127.0.0.2 and so on. */
static int choose_source(const struct exchanges *exchanges, const struct exchange *exchange)
{
	const struct sockaddr_in *server = (const struct sockaddr_in *)&exchanges->options->address;
	struct sockaddr_in        source = {.sin_family = AF_INET};
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

	exchange->file = socket(options->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (exchange->file < 0)
		return end(exchanges, exchange, FAILURE_CONNECT);
	setsockopt(exchange->file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	exchange->state = EXCHANGE_CONNECTING;
	exchange->is_reused = 0;
	if (choose_source(exchanges, exchange) ||
	    (connect(exchange->file, (const struct sockaddr *)&options->address, options->address_length) &&
	     errno != EINPROGRESS) ||
	    listen_for(exchanges, exchange, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD))
		return end(exchanges, exchange, FAILURE_CONNECT);
	exchanges->connections++;
}

/* A server may close a connection that was used before at the moment when it is used again: then
 * the request goes once more, over a new one, and its time goes on. */
static void lose_connection(struct exchanges *exchanges, struct exchange *exchange)
{
	const struct response *response = &exchange->response;

	if (exchange->state == EXCHANGE_CONNECTING)
		return end(exchanges, exchange, FAILURE_CONNECT);
	if (!exchange->is_reused || response->state != RESPONSE_HEAD || response->head_length)
		return end(exchanges, exchange, FAILURE_CLOSED);
	exchange_disconnect(exchange);
	exchange->sent = 0;
	connect_to_server(exchanges, exchange);
}

static void send_request(struct exchanges *exchanges, struct exchange *exchange)
{
	ssize_t sent = send(exchange->file, exchange->request + exchange->sent, exchange->request_length - exchange->sent,
	                    MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return lose_connection(exchanges, exchange);
	exchange->sent += sent > 0 ? (uint32_t)sent : 0;
	if (exchange->sent == exchange->request_length) {
		if (exchange->state != EXCHANGE_IDLE && listen_for(exchanges, exchange, EPOLLIN, EPOLL_CTL_MOD))
			return end(exchanges, exchange, FAILURE_CONNECT);
		exchange->state = EXCHANGE_WAITING;
	} else {
		if (exchange->state == EXCHANGE_IDLE &&
		    listen_for(exchanges, exchange, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD))
			return end(exchanges, exchange, FAILURE_CONNECT);
		exchange->state = EXCHANGE_SENDING;
	}
}

void exchange_begin(struct exchanges *exchanges, struct exchange *exchange, const char *request, uint32_t length)
{
	exchange->request = request;
	exchange->request_length = length;
	exchange->sent = 0;
	exchange->started = exchanges->now;
	exchange->differs = 0;
	response_begin(&exchange->response);
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
		of->exchange->differs =
			(uint8_t)of->exchanges->differs(of->exchanges, of->exchange, offset, bytes, length);
}

/* Reads once. What only fills a body that nobody compares is thrown away by the kernel. */
static ssize_t read_some(struct exchanges *exchanges, struct exchange *exchange)
{
	struct response *response = &exchange->response;
	uint64_t         skippable = exchange->is_compared ? 0 : response_skippable(response);
	size_t           room = sizeof(exchanges->buffer);
	ssize_t          got, more;

	if (skippable >= SKIP_LEAST && skippable != UINT64_MAX) {
		got = recv(exchange->file, NULL, skippable < 1 << 30 ? (size_t)skippable : 1 << 30, MSG_TRUNC);
		if (got > 0)
			response_skipped(response, (uint64_t)got);
		if (got >= 0 || errno != EFAULT)
			return got;
	}
	if (!exchange->is_compared && response->state == RESPONSE_HEAD && exchange->expected >= LONG_LEAST)
		room = HEAD_READ;
	got = recv(exchange->file, exchanges->buffer, room, 0);
	if (got > 0) {
		struct comparison comparison = {exchanges, exchange};

		response_take(response, exchanges->buffer, (size_t)got, exchange->is_compared ? compare : NULL,
		              &comparison);
	}
	if (got == HEAD_READ && room == HEAD_READ && response_skippable(response) &&
	    (more = read_some(exchanges, exchange)) > 0)
		return got + more;
	return got;
}

static enum failure failure_of(struct exchanges *exchanges, const struct exchange *exchange)
{
	if (exchange->response.state == RESPONSE_MALFORMED)
		return FAILURE_MALFORMED;
	if (exchange->response.status < 200 || exchange->response.status > 299)
		return FAILURE_STATUS;
	if (!exchanges->is_length(exchanges, exchange))
		return FAILURE_LENGTH;
	return exchange->differs ? FAILURE_BODY : FAILURES;
}

static void read_answer(struct exchanges *exchanges, struct exchange *exchange)
{
	ssize_t got = read_some(exchanges, exchange);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (exchange->state != EXCHANGE_WAITING && exchange->state != EXCHANGE_SENDING) {
		/* Nobody asked: the server has closed an idle connection, or talks out of turn. */
		exchange_disconnect(exchange);
		return;
	}
	if (got == 0)
		response_end(&exchange->response);
	if (exchange->response.state == RESPONSE_MALFORMED || exchange->response.state == RESPONSE_WHOLE)
		end(exchanges, exchange, failure_of(exchanges, exchange));
	else if (got <= 0)
		lose_connection(exchanges, exchange);
}

void exchanges_handle(struct exchanges *exchanges, const struct epoll_event *event)
{
	struct exchange *exchange = &exchanges->all[event->data.u64 >> 32];

	exchanges->now = now_ns();
	if (exchange->connection != (uint32_t)event->data.u64)
		return; /* it was given up while its event waited to be read */
	if (exchange->state == EXCHANGE_CONNECTING && (event->events & (EPOLLERR | EPOLLHUP)))
		return end(exchanges, exchange, FAILURE_CONNECT);
	if ((event->events & EPOLLOUT) &&
	    (exchange->state == EXCHANGE_CONNECTING || exchange->state == EXCHANGE_SENDING))
		return send_request(exchanges, exchange);
	read_answer(exchanges, exchange);
}

/* -- Time -- */

void exchanges_give_up_overdue(struct exchanges *exchanges)
{
	while (exchanges_overdue(exchanges) < exchanges->now)
		end(exchanges, &exchanges->all[exchanges->first], FAILURE_TIMEOUT);
}

/* To the nanosecond where the kernel can (Linux 5.11), else to the millisecond below. */
int exchanges_wait(struct exchanges *exchanges, struct epoll_event *events, uint64_t until)
{
	uint64_t        left = until > exchanges->now ? until - exchanges->now : 0;
	struct timespec limit = {(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
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

/* -- From the beginning to the end -- */

int exchanges_make(struct exchanges *exchanges, const struct options *options, unsigned count)
{
	*exchanges = (struct exchanges){.options = options, .count = count, .first = count, .last = count, .poll = -1};
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
