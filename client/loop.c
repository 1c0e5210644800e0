/* loop.c -- one event loop: some of the clients, their connections and their times.
 *
 * A client that is free holds a connection or none. In a closed load it sends again after its pause;
 * in an open one the next arrival takes the client that became free last. An arrival that finds none
 * waits, and the first client to be free takes it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arrivals.h"
#include "client.h"
#include "response.h"

enum {
	EVENTS_MOST = 256,
	READ_MOST = 65536,
	SKIP_LEAST = 4096, /* so much of a body is left to the kernel to throw away */
	BACKLOG_MOST = 1 << 20,
};
static const uint64_t retry_ns = 10000000; /* after a connection could not be made */
static const uint64_t scan_ns = 100000000; /* how often answers are looked for that are overdue */

const char *const failure_names[FAILURES] = {"connect", "timeout", "closed", "malformed",
                                             "status",  "length",  "body"};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

enum client_state { CLIENT_FREE, CLIENT_CONNECTING, CLIENT_SENDING, CLIENT_WAITING, CLIENT_PAUSING };

struct client {
	int               file; /* -1 without a connection */
	enum client_state state;
	int               is_compared, differs;
	int               is_reused; /* the connection has carried an answer before */
	uint32_t          sent; /* bytes of the request */
	uint64_t          intended, started, wakes;
	struct response   response;
};

struct loop {
	const struct options   *options;
	const struct reference *reference;
	struct result          *result;
	uint64_t                began, opens, closes; /* began, and the window: by number, all time */
	uint64_t                random;
	int                     poll;
	struct client          *clients;
	unsigned                count;
	unsigned               *free, free_count;     /* a stack: of an open load, or of one by number */
	unsigned               *pausing, pausing_count; /* a heap by `wakes` */
	uint64_t               *backlog, backlog_first, backlog_count; /* intended times, a ring */
	uint64_t                arrives; /* the next arrival of an open load */
	struct second           no_second;
	int                     is_by_number;
	uint64_t                left;    /* requests that have not begun, if it is by number */
	uint64_t                now, scans;
	unsigned                busy; /* clients with a request under way */
	char                    request[REQUEST_MOST];
	uint32_t                request_length;
	char                    buffer[READ_MOST];
};

/* -- Pauses: a binary heap -- */

static int wakes_before(const struct loop *loop, unsigned a, unsigned b)
{
	return loop->clients[loop->pausing[a]].wakes < loop->clients[loop->pausing[b]].wakes;
}

static void swap_pausing(struct loop *loop, unsigned a, unsigned b)
{
	unsigned kept = loop->pausing[a];

	loop->pausing[a] = loop->pausing[b];
	loop->pausing[b] = kept;
}

static void pause_until(struct loop *loop, struct client *client, uint64_t wakes)
{
	unsigned at = loop->pausing_count++;

	client->state = CLIENT_PAUSING;
	client->wakes = wakes;
	loop->pausing[at] = (unsigned)(client - loop->clients);
	for (; at && wakes_before(loop, at, (at - 1) / 2); at = (at - 1) / 2)
		swap_pausing(loop, at, (at - 1) / 2);
}

static struct client *take_first_pausing(struct loop *loop)
{
	struct client *first = &loop->clients[loop->pausing[0]];
	unsigned       at = 0;

	loop->pausing[0] = loop->pausing[--loop->pausing_count];
	for (;;) {
		unsigned least = at;

		for (unsigned child = 2 * at + 1; child <= 2 * at + 2 && child < loop->pausing_count; child++)
			if (wakes_before(loop, child, least))
				least = child;
		if (least == at)
			return first;
		swap_pausing(loop, at, least);
		at = least;
	}
}

/* -- What is counted -- */

static int in_window(const struct loop *loop, uint64_t time)
{
	return time >= loop->opens && time < loop->closes;
}

static struct second *second_of(struct loop *loop, uint64_t time)
{
	if (loop->is_by_number)
		return &loop->no_second;
	return &loop->result->seconds[(time - loop->opens) / SECOND_NS];
}

static void count_latency(struct loop *loop, const struct client *client)
{
	if (!in_window(loop, client->intended))
		return;
	histogram_add(&loop->result->latency, loop->now - client->started);
	histogram_add(&loop->result->intended, loop->now - client->intended);
}

static void count_answer(struct loop *loop, const struct client *client)
{
	count_latency(loop, client);
	if (!in_window(loop, loop->now))
		return;
	loop->result->answers++;
	loop->result->bytes += client->response.received;
	loop->result->verified += (uint64_t)client->is_compared;
	second_of(loop, loop->now)->answers++;
	second_of(loop, loop->now)->bytes += client->response.received;
}

static void count_failure(struct loop *loop, const struct client *client, enum failure failure)
{
	count_latency(loop, client);
	if (!in_window(loop, loop->now))
		return;
	loop->result->failures[failure]++;
	second_of(loop, loop->now)->failures++;
}

/* -- A client's round: connect, send, wait, free again -- */

static void make_free(struct loop *loop, struct client *client, uint64_t earliest);
static void begin(struct loop *loop, struct client *client, uint64_t intended);

static void disconnect(struct client *client)
{
	if (client->file >= 0)
		close(client->file);
	client->file = -1;
}

static void end_request(struct loop *loop, struct client *client)
{
	loop->busy--;
	loop->result->requests++;
	response_free(&client->response);
}

static void fail(struct loop *loop, struct client *client, enum failure failure)
{
	count_failure(loop, client, failure);
	disconnect(client);
	end_request(loop, client);
	make_free(loop, client, failure == FAILURE_CONNECT ? loop->now + retry_ns : 0);
}

static int listen_for(struct loop *loop, struct client *client, uint32_t events, int operation)
{
	struct epoll_event event = {.events = events, .data.u32 = (uint32_t)(client - loop->clients)};

	return epoll_ctl(loop->poll, operation, client->file, &event);
}

static void connect_to_server(struct loop *loop, struct client *client);

/* A server may close a connection that was used before at the moment when it is used again: then
 * the request goes once more, over a new one, and its time goes on. */
static void lose_connection(struct loop *loop, struct client *client)
{
	if (client->state == CLIENT_CONNECTING)
		return fail(loop, client, FAILURE_CONNECT);
	if (!client->is_reused || client->response.state != RESPONSE_HEAD || client->response.head_length)
		return fail(loop, client, FAILURE_CLOSED);
	disconnect(client);
	client->sent = 0;
	connect_to_server(loop, client);
}

static void send_request(struct loop *loop, struct client *client)
{
	ssize_t sent = send(client->file, loop->request + client->sent, loop->request_length - client->sent,
	                    MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return lose_connection(loop, client);
	client->sent += sent > 0 ? (uint32_t)sent : 0;
	if (client->sent == loop->request_length) {
		if (client->state != CLIENT_FREE && listen_for(loop, client, EPOLLIN, EPOLL_CTL_MOD))
			return fail(loop, client, FAILURE_CONNECT);
		client->state = CLIENT_WAITING;
	} else {
		if (client->state == CLIENT_FREE && listen_for(loop, client, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD))
			return fail(loop, client, FAILURE_CONNECT);
		client->state = CLIENT_SENDING;
	}
}

static void connect_to_server(struct loop *loop, struct client *client)
{
	const struct options *options = loop->options;
	int                   one = 1;

	client->file = socket(options->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->file < 0)
		return fail(loop, client, FAILURE_CONNECT);
	setsockopt(client->file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	client->state = CLIENT_CONNECTING;
	client->is_reused = 0;
	if ((connect(client->file, (const struct sockaddr *)&options->address, options->address_length) &&
	     errno != EINPROGRESS) ||
	    listen_for(loop, client, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD))
		return fail(loop, client, FAILURE_CONNECT);
	if (in_window(loop, loop->now))
		loop->result->connections++;
}

static void begin(struct loop *loop, struct client *client, uint64_t intended)
{
	loop->left--; /* of a load by time, nobody asks */
	client->state = CLIENT_FREE;
	client->intended = intended;
	client->started = loop->now;
	client->sent = 0;
	client->differs = 0;
	client->is_compared = loop->reference->is_fixed && loop->options->verified > 0 &&
	                      random_share(&loop->random) < loop->options->verified;
	response_begin(&client->response);
	loop->busy++;
	if (in_window(loop, intended))
		loop->result->started++;
	if (client->file < 0)
		connect_to_server(loop, client);
	else
		send_request(loop, client);
}

/* Whether all requests of a number have begun. */
static int is_done(const struct loop *loop)
{
	return loop->is_by_number && !loop->left;
}

/* The client may send again, but not before `earliest`. */
static void make_free(struct loop *loop, struct client *client, uint64_t earliest)
{
	const struct options *options = loop->options;

	client->state = CLIENT_FREE;
	if (options->rate == 0 && is_done(loop)) {
		loop->free[loop->free_count++] = (unsigned)(client - loop->clients);
	} else if (options->rate == 0) {
		uint64_t wakes = loop->now;

		if (options->think_ns)
			wakes += random_time(&loop->random, (double)options->think_ns, options->think);
		if (wakes < earliest)
			wakes = earliest;
		if (wakes == loop->now && loop->now < loop->closes)
			begin(loop, client, wakes);
		else
			pause_until(loop, client, wakes);
	} else if (earliest > loop->now) {
		pause_until(loop, client, earliest);
	} else if (loop->backlog_count) {
		uint64_t intended = loop->backlog[loop->backlog_first];

		loop->backlog_first = (loop->backlog_first + 1) % BACKLOG_MOST;
		loop->backlog_count--;
		begin(loop, client, intended);
	} else {
		loop->free[loop->free_count++] = (unsigned)(client - loop->clients);
	}
}

struct comparison {
	const struct reference *reference;
	int                     differs;
};

static void compare(void *context, uint64_t offset, const char *bytes, size_t length)
{
	struct comparison *comparison = context;

	comparison->differs |= offset + length > comparison->reference->length ||
	                       memcmp(comparison->reference->body + offset, bytes, length) != 0;
}

static void finish(struct loop *loop, struct client *client)
{
	const struct response *response = &client->response;
	int                    closes = response->closes || loop->options->connection != CONNECTION_KEEP;

	if (response->status < 200 || response->status > 299)
		return fail(loop, client, FAILURE_STATUS);
	if (loop->reference->is_fixed && response->received != loop->reference->length)
		return fail(loop, client, FAILURE_LENGTH);
	if (client->differs)
		return fail(loop, client, FAILURE_BODY);
	count_answer(loop, client);
	client->is_reused = 1;
	if (closes)
		disconnect(client);
	end_request(loop, client);
	make_free(loop, client, 0);
}

/* Reads once. What only fills a body that nobody compares is thrown away by the kernel. */
static ssize_t read_some(struct loop *loop, struct client *client)
{
	struct response *response = &client->response;
	uint64_t         skippable = client->is_compared ? 0 : response_skippable(response);
	ssize_t          got;

	if (skippable >= SKIP_LEAST && skippable != UINT64_MAX) {
		got = recv(client->file, NULL, skippable < 1 << 30 ? (size_t)skippable : 1 << 30, MSG_TRUNC);
		if (got > 0)
			response_skipped(response, (uint64_t)got);
		if (got >= 0 || errno != EFAULT)
			return got;
	}
	got = recv(client->file, loop->buffer, sizeof(loop->buffer), 0);
	if (got > 0) {
		struct comparison comparison = { loop->reference, client->differs };

		response_take(response, loop->buffer, (size_t)got, client->is_compared ? compare : NULL,
		              &comparison);
		client->differs = comparison.differs;
	}
	return got;
}

static void read_answer(struct loop *loop, struct client *client)
{
	ssize_t got = read_some(loop, client);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (client->state != CLIENT_WAITING && client->state != CLIENT_SENDING) {
		/* Nobody asked: the server has closed an idle connection, or talks out of turn. */
		disconnect(client);
		return;
	}
	if (got == 0)
		response_end(&client->response);
	if (client->response.state == RESPONSE_MALFORMED)
		fail(loop, client, FAILURE_MALFORMED);
	else if (client->response.state == RESPONSE_WHOLE)
		finish(loop, client);
	else if (got <= 0)
		lose_connection(loop, client);
}

static void handle(struct loop *loop, struct client *client, uint32_t events)
{
	loop->now = now_ns();
	if (client->file < 0)
		return; /* it was given up while its event waited to be read */
	if (client->state == CLIENT_CONNECTING && (events & (EPOLLERR | EPOLLHUP)))
		return fail(loop, client, FAILURE_CONNECT);
	if ((events & EPOLLOUT) && (client->state == CLIENT_CONNECTING || client->state == CLIENT_SENDING))
		return send_request(loop, client);
	read_answer(loop, client);
}

/* -- Time -- */

/* Whether an open load has arrivals to come. */
static int are_coming(const struct loop *loop)
{
	if (loop->is_by_number)
		return loop->left > loop->backlog_count;
	return loop->arrives < loop->closes;
}

static void arrive(struct loop *loop)
{
	const struct options *options = loop->options;

	while (loop->arrives <= loop->now && are_coming(loop)) {
		uint64_t intended = loop->arrives;

		if (loop->free_count) {
			if (in_window(loop, intended))
				histogram_add(&loop->result->lag, loop->now - intended);
			begin(loop, &loop->clients[loop->free[--loop->free_count]], intended);
		} else {
			if (in_window(loop, intended))
				loop->result->waited++;
			if (loop->backlog_count < BACKLOG_MOST) {
				uint64_t last = loop->backlog_first + loop->backlog_count++;

				loop->backlog[last % BACKLOG_MOST] = intended;
			} else if (in_window(loop, intended)) {
				loop->result->unsent++;
			}
		}
		/* Each loop has its share of the rate. */
		loop->arrives += random_time(
			&loop->random, (double)SECOND_NS * options->clients / (options->rate * loop->count),
			options->arrivals);
	}
}

static void wake(struct loop *loop)
{
	while (loop->pausing_count && loop->clients[loop->pausing[0]].wakes <= loop->now) {
		struct client *client = take_first_pausing(loop);

		if (loop->options->rate != 0 || is_done(loop)) {
			make_free(loop, client, 0);
		} else if (loop->now < loop->closes) {
			if (loop->options->think_ns && in_window(loop, client->wakes))
				histogram_add(&loop->result->lag, loop->now - client->wakes);
			begin(loop, client, client->wakes);
		} else {
			client->state = CLIENT_FREE;
		}
		loop->now = now_ns();
	}
}

static void give_up_overdue(struct loop *loop)
{
	if (loop->now < loop->scans)
		return;
	loop->scans = loop->now + scan_ns;
	for (unsigned i = 0; i < loop->count; i++) {
		struct client *client = &loop->clients[i];
		int is_asking = client->state == CLIENT_CONNECTING || client->state == CLIENT_SENDING ||
		                client->state == CLIENT_WAITING;

		if (is_asking && loop->now - client->started > loop->options->timeout_ns)
			fail(loop, client, FAILURE_TIMEOUT);
	}
}

static uint64_t next_time(const struct loop *loop)
{
	uint64_t next = loop->scans;

	if (loop->pausing_count && loop->clients[loop->pausing[0]].wakes < next)
		next = loop->clients[loop->pausing[0]].wakes;
	if (loop->options->rate != 0 && are_coming(loop) && loop->arrives < next)
		next = loop->arrives;
	return next;
}

/* To the nanosecond where the kernel can (Linux 5.11), else to the millisecond below. */
static int wait_for_events(struct loop *loop, struct epoll_event *events, uint64_t until)
{
	uint64_t        left = until > loop->now ? until - loop->now : 0;
	struct timespec limit = {(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
	int             got;

#ifdef SYS_epoll_pwait2
	got = (int)syscall(SYS_epoll_pwait2, loop->poll, events, EVENTS_MOST, &limit, NULL, 0);
	if (got >= 0 || errno != ENOSYS)
		return got;
#else
	(void)limit;
#endif
	got = epoll_wait(loop->poll, events, EVENTS_MOST, (int)(left / 1000000));
	return got;
}

/* After the window: what has begun in it may still end, up to its time. */
static int is_over(const struct loop *loop)
{
	if (loop->is_by_number)
		return is_done(loop) && !loop->busy;
	return loop->now >= loop->closes && !loop->busy;
}

static void go_on(struct loop *loop)
{
	struct epoll_event events[EVENTS_MOST];

	for (;;) {
		int got;

		loop->now = now_ns();
		if (loop->now >= loop->closes) {
			loop->result->unsent += loop->backlog_count;
			loop->backlog_count = 0;
		}
		if (loop->options->rate != 0)
			arrive(loop);
		wake(loop);
		give_up_overdue(loop);
		if (is_over(loop))
			return;
		got = wait_for_events(loop, events, next_time(loop));
		if (got < 0 && errno != EINTR) {
			loop->result->broken = errno;
			return;
		}
		for (int i = 0; i < got; i++) {
			handle(loop, &loop->clients[events[i].data.u32], events[i].events);
			if (loop->options->rate != 0)
				arrive(loop);
		}
	}
}

/* -- From the beginning to the end -- */

static uint64_t ns_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_usec * 1000;
}

static int prepare(struct loop *loop, unsigned first)
{
	const struct options *options = loop->options;
	int                   length;

	length = request_write(options, options->connection, loop->request, REQUEST_MOST);
	if (length < 0)
		return errno;
	loop->request_length = (uint32_t)length;
	loop->clients = calloc(loop->count, sizeof(*loop->clients));
	loop->free = calloc(loop->count, sizeof(*loop->free));
	loop->pausing = calloc(loop->count, sizeof(*loop->pausing));
	loop->backlog = options->rate != 0 ? malloc(BACKLOG_MOST * sizeof(*loop->backlog)) : NULL;
	loop->poll = epoll_create1(EPOLL_CLOEXEC);
	if (!loop->clients || !loop->free || !loop->pausing || (options->rate != 0 && !loop->backlog))
		return ENOMEM;
	if (loop->poll < 0)
		return errno;
	loop->random = options->seed + first;
	random_next(&loop->random);
	for (unsigned i = loop->count; i-- > 0;) {
		loop->clients[i].file = -1;
		if (options->rate != 0 || loop->is_by_number)
			loop->free[loop->free_count++] = i;
		else /* not all at one moment: within the pause, or 100 ms */
			pause_until(loop, &loop->clients[i],
			            loop->began + (uint64_t)(random_share(&loop->random) *
			                                     (double)(options->think_ns + scan_ns)));
	}
	loop->arrives = loop->began;
	return 0;
}

static void release(struct loop *loop)
{
	for (unsigned i = 0; loop->clients && i < loop->count; i++) {
		disconnect(&loop->clients[i]);
		response_free(&loop->clients[i].response);
	}
	if (loop->poll >= 0)
		close(loop->poll);
	free(loop->clients);
	free(loop->free);
	free(loop->pausing);
	free(loop->backlog);
}

void loop_run(const struct options *options, const struct reference *reference, unsigned first,
              unsigned count, uint64_t began, struct result *result)
{
	struct loop  *loop = calloc(1, sizeof(*loop));
	struct rusage before, after;

	if (!loop) {
		result->broken = ENOMEM;
		return;
	}
	loop->options = options;
	loop->reference = reference;
	loop->result = result;
	loop->count = count;
	loop->poll = -1;
	loop->began = began;
	loop->opens = began + options->warmup_ns;
	loop->closes = loop->opens + options->window_ns;
	loop->now = loop->scans = began;
	prctl(PR_SET_TIMERSLACK, 1);
	result->broken = prepare(loop, first);
	getrusage(RUSAGE_THREAD, &before);
	if (!result->broken)
		go_on(loop);
	getrusage(RUSAGE_THREAD, &after);
	result->user_ns = ns_of(after.ru_utime) - ns_of(before.ru_utime);
	result->system_ns = ns_of(after.ru_stime) - ns_of(before.ru_stime);
	release(loop);
	free(loop);
}

struct loop *loop_open(const struct options *options, const struct reference *reference,
                       struct result *result)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->options = options;
	loop->reference = reference;
	loop->result = result;
	loop->count = options->clients;
	loop->poll = -1;
	loop->is_by_number = 1;
	loop->closes = UINT64_MAX;
	loop->began = loop->now = loop->scans = now_ns();
	prctl(PR_SET_TIMERSLACK, 1);
	errno = prepare(loop, 0);
	if (!errno)
		return loop;
	loop_close(loop);
	return NULL;
}

int loop_perform(struct loop *loop, uint64_t requests)
{
	loop->result->broken = 0;
	loop->left = requests;
	loop->now = loop->arrives = now_ns();
	while (loop->options->rate == 0 && loop->free_count && loop->left)
		begin(loop, &loop->clients[loop->free[--loop->free_count]], loop->now);
	go_on(loop);
	return loop->result->broken;
}

void loop_close(struct loop *loop)
{
	int kept = errno;

	if (!loop)
		return;
	release(loop);
	free(loop);
	errno = kept;
}
