/* far.c -- see far.h. */
#include "far.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "../api/far_end.h"
#include "address.h"
#include "door.h"
#include "options.h"

enum { BACKLOG = 512, STACK_BYTES = 262144, DATAGRAM_MOST = 65535, TELL_AGAIN = 64 };

static struct order   order;
static struct address near_end;
static const char    *known;     /* the token */
static uint64_t       datagrams; /* that have come, of all flows */

int far_listen(const char *numbers, uint16_t *port)
{
	struct address address;
	int            one, kept;

	if (address_read(numbers, 0, &address)) {
		errno = EINVAL;
		return -1;
	}
	one = socket(address.is.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (one < 0)
		return -1;
	if (bind(one, (struct sockaddr *)&address.is, address.length) || listen(one, BACKLOG) ||
	    address_own(one, &address)) {
		kept = errno;
		close(one);
		errno = kept;
		return -1;
	}
	*port = ntohs(*address_port(&address));
	return one;
}

/* ---- What single flows get ---- */

static void answer_requests(int flow, unsigned char *bytes)
{
	while (!read_whole(flow, bytes, order.request))
		if (write_whole(flow, bytes, order.response))
			return;
}

/* The near end's data, batch by batch: how much comes, it says before. */
static void take_stream(int flow, unsigned char *bytes)
{
	union message batch;

	while (!read_whole(flow, &batch, sizeof(batch))) {
		for (uint64_t left = order_of_net(batch.bytes); left;) {
			ssize_t got = read(flow, bytes, left < order.read ? left : order.read);

			if (got <= 0)
				return;
			left -= (uint64_t)got;
		}
		if (write_whole(flow, "", 1))
			return;
	}
}

static void give_stream(int flow, unsigned char *bytes)
{
	union message batch;

	while (!read_whole(flow, &batch, sizeof(batch)))
		for (uint64_t left = order_of_net(batch.bytes); left;) {
			size_t piece = left < order.response ? left : order.response;

			if (write_whole(flow, bytes, piece))
				return;
			left -= piece;
		}
}

static int is_greeting(const unsigned char *bytes, ssize_t count)
{
	union message said = { .all = { 0 } };

	if (count != (ssize_t)sizeof(said))
		return 0;
	strcpy(said.is.token, known);
	said.is.role = (char)bytes[0];
	return !memcmp(&said, bytes, sizeof(said));
}

/* Waits for the near end's first datagram, which has the token, and from then on hears nobody else:
 * the kernel throws away what others send to a socket that is connected. What others had sent
 * before is still in the queue, and is thrown away here, before the near end is told to begin. */
static int meet_near(int flow, unsigned char *bytes)
{
	for (;;) {
		struct address from = { .length = sizeof(from.is) };
		ssize_t got = recvfrom(flow, bytes, DATAGRAM_MOST, 0, (struct sockaddr *)&from.is,
		                       &from.length);
		union message said;

		if (got < 0 && errno != EINTR)
			return -1;
		if (!is_greeting(bytes, got) || !address_same_host(&from, &near_end))
			continue;
		memcpy(&said, bytes, sizeof(said));
		if (connect(flow, (struct sockaddr *)&from.is, from.length))
			return -1;
		while (recv(flow, bytes, DATAGRAM_MOST, MSG_DONTWAIT) >= 0)
			continue;
		return send(flow, &said, sizeof(said), 0) < 0 ? -1 : 0;
	}
}

/* The next datagram that is no greeting: one that is has come again, because its answer was lost.
 * Returns its length, or -1. */
static ssize_t take_datagram(int flow, unsigned char *bytes)
{
	for (;;) {
		ssize_t got = recv(flow, bytes, DATAGRAM_MOST, 0);

		if (got < 0 && errno != EINTR && errno != ECONNREFUSED)
			return -1;
		if (is_greeting(bytes, got))
			(void)!send(flow, bytes, sizeof(union message), 0);
		else if (got > 0)
			return got;
	}
}

static void answer_datagrams(int flow, unsigned char *bytes)
{
	while (take_datagram(flow, bytes) > 0) {
		__atomic_fetch_add(&datagrams, 1, __ATOMIC_RELAXED);
		/* The first byte is the request's number, which its response has too. */
		send(flow, bytes, order.response, 0);
	}
}

/* Counts the datagrams of a batch. That its goal is reached is told, and told again to a near end
 * that goes on sending: what tells it may be lost as well. */
static void count_datagrams(int flow, unsigned char *bytes)
{
	struct datagram_head head;
	uint32_t             batch = 0, arrived = 0, beyond = 0;
	ssize_t              got;

	while ((got = take_datagram(flow, bytes)) > 0) {
		if (got < (ssize_t)sizeof(head))
			continue;
		memcpy(&head, bytes, sizeof(head));
		__atomic_fetch_add(&datagrams, 1, __ATOMIC_RELAXED);
		if (head.batch != batch) {
			batch = head.batch;
			arrived = beyond = 0;
		}
		if (++arrived == ntohl(head.goal) ||
		    (arrived > ntohl(head.goal) && ++beyond % TELL_AGAIN == 0))
			send(flow, &head, sizeof(head), 0);
	}
}

static void serve_flow(int flow, enum role role, unsigned char *bytes)
{
	if (order.service == SERVE_DATAGRAMS) {
		if (meet_near(flow, bytes))
			return;
		if (role == ROLE_TRANSACTIONS)
			answer_datagrams(flow, bytes);
		else
			count_datagrams(flow, bytes);
	} else if (role == ROLE_TRANSACTIONS) {
		answer_requests(flow, bytes);
	} else if (role == ROLE_SEND) {
		take_stream(flow, bytes);
	} else if (role == ROLE_RECEIVE) {
		give_stream(flow, bytes);
	}
}

/* A flow and its role in one pointer. */
static void *as_argument(int flow, enum role role)
{
	return (void *)((intptr_t)flow << 8 | (unsigned char)role);
}

static void *serve_socket(void *argument)
{
	int            flow = (int)((intptr_t)argument >> 8);
	size_t         room = order_room(&order);
	unsigned char *bytes = malloc(room);

	if (bytes) {
		/* Else one page of zeros would be sent again and again. */
		memset(bytes, 0x55, room);
		serve_flow(flow, (enum role)((intptr_t)argument & 0xff), bytes);
	}
	free(bytes);
	close(flow);
	return NULL;
}

static int serve_apart(void *(*serve)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t      thread;
	int            error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, serve, argument);
	pthread_attr_destroy(&attributes);
	return error ? -1 : 0;
}

/* ---- Connections ---- */

static int is_near(int one)
{
	struct address from;

	return !address_other(one, &from) && address_same_host(&from, &near_end);
}

/* An idle connection needs no thread: it stays open as long as this process. */
static int serve_connection(int one, const union message *said)
{
	if (!is_near(one) || socket_options(one, &order) || write_whole(one, said, sizeof(*said)))
		return -1;
	return said->is.role == ROLE_IDLE
	               ? 0
	               : serve_apart(serve_socket, as_argument(one, (enum role)said->is.role));
}

static void *accept_flows(void *argument)
{
	static struct door door;
	union message      said;
	int                one;

	if (door_make(&door, (int)(intptr_t)argument, known))
		return NULL;
	while ((one = door_next(&door, &said)) >= 0)
		if (serve_connection(one, &said))
			close(one);
	return NULL;
}

/* One connection after another, as a server without threads has them. Its operations have no room
 * for a token: where others can connect, too, a door sees to it that none of them is waited for. */
static int next_connection(struct door *door, int listener)
{
	if (!order.is_alone && order.request)
		return door_next(door, NULL);
	for (;;) {
		int one = accept(listener, NULL, NULL);

		if (one >= 0 || (errno != EINTR && errno != ECONNABORTED))
			return one;
	}
}

static int is_welcome(int one)
{
	return order.is_alone || is_near(one);
}

static void end_connection(struct door *door, int one, unsigned char *bytes)
{
	if (order.goodbye) {
		close(one);
	} else if (!order.is_alone) {
		door_dismiss(door, one);
	} else {
		(void)!read(one, bytes, 1); /* until the near end resets it */
		close(one);
	}
}

static void *accept_connections(void *argument)
{
	static struct door door;
	int                listener = (int)(intptr_t)argument, one;
	unsigned char     *bytes = calloc(
		1, (order.request > order.response ? order.request : order.response) + 1);

	if (!order.is_alone && order.request && door_make(&door, listener, NULL))
		return NULL;
	while (bytes && (one = next_connection(&door, listener)) >= 0) {
		if (!order.request)
			socket_end_by_reset(one);
		if (!order.request || !is_welcome(one) || read_whole(one, bytes, order.request) ||
		    write_whole(one, bytes, order.response))
			close(one);
		else
			end_connection(&door, one, bytes);
	}
	free(bytes);
	return NULL;
}

/* ---- The control connection ---- */

static int open_datagrams(struct address *own)
{
	/* Ports one after another, from one that the system chooses: one may be taken. */
	for (int again = 0; again < 16; again++) {
		int      sockets[FLOWS_MOST];
		uint64_t made = 0;

		*address_port(own) = 0;
		for (; made < order.flows; made++) {
			sockets[made] = socket(own->is.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			if (sockets[made] < 0 || socket_options(sockets[made], &order) ||
			    bind(sockets[made], (struct sockaddr *)&own->is, own->length))
				break;
			if (!made && address_own(sockets[0], own))
				break;
			*address_port(own) = htons((uint16_t)(ntohs(*address_port(own)) + 1));
		}
		if (made == order.flows) {
			*address_port(own) = htons(
				(uint16_t)(ntohs(*address_port(own)) - order.flows));
			for (uint64_t i = 0; i < made; i++)
				if (serve_apart(serve_socket, as_argument(sockets[i], order.role)))
					return -1;
			return 0;
		}
		for (uint64_t i = 0; i <= made && i < order.flows; i++)
			if (sockets[i] >= 0)
				close(sockets[i]);
	}
	return -1;
}

/* Connections have from their listener how long they wait for the rest of a request. */
static int limit_waits(int listener)
{
	static const struct timeval limit = { .tv_sec = 1 };

	if (order.is_alone || order.service != SERVE_CONNECTIONS)
		return 0;
	return setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	                       setsockopt(listener, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))
	               ? -1
	               : 0;
}

static int open_service(struct address *own)
{
	int listener;

	if (files_take(order_connections(&order)) < order_connections(&order)) {
		errno = EMFILE;
		return -1;
	}
	if (order.service == SERVE_DATAGRAMS)
		return open_datagrams(own);
	*address_port(own) = 0;
	listener = socket(own->is.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The buffers before a connection is there: its window follows from them. */
	if (listener < 0 || socket_options(listener, &order) || limit_waits(listener) ||
	    bind(listener, (struct sockaddr *)&own->is, own->length) || listen(listener, BACKLOG) ||
	    address_own(listener, own))
		return -1;
	return serve_apart(order.service == SERVE_FLOWS ? accept_flows : accept_connections,
	                   (void *)(intptr_t)listener);
}

static int take_order(const char *line)
{
	char     congestion[CONGESTION_ROOM];
	unsigned service, role;
	int      at, step;

	if (sscanf(line, "order %u %u %16s%n", &service, &role, congestion, &at) != 3 ||
	    service > SERVE_DATAGRAMS)
		return -1;
	for (unsigned i = 0; i < ORDER_NUMBERS; i++, at += step)
		if (sscanf(line + at, " %" SCNu64 "%n", order_number(&order, i), &step) != 1)
			return -1;
	if (order.request > SIZE_MOST || order.response > SIZE_MOST || order.flows > FLOWS_MOST ||
	    order.idle > IDLE_MOST || order.read > SIZE_MOST)
		return -1;
	order.service = (enum service)service;
	order.role = (enum role)role;
	strcpy(order.congestion, strcmp(congestion, "-") ? congestion : "");
	return 0;
}

static void say_cost(FILE *to)
{
	fprintf(to, "cost %" PRIu64 " %" PRIu64 "\n", own_processor_ns(),
	        __atomic_load_n(&datagrams, __ATOMIC_RELAXED));
}

/* `control` has said the token. */
static void serve_order(int control, const char *token)
{
	FILE          *from = fdopen(control, "r"), *to = fdopen(dup(control), "w");
	char           line[ORDER_LINE];
	struct address own;

	known = token;
	if (!from || !to || address_other(control, &near_end) || address_own(control, &own) ||
	    !fgets(line, sizeof(line), from) || take_order(line))
		return;
	if (open_service(&own))
		fprintf(to, "no %s\n", strerror(errno));
	else
		fprintf(to, "port %u\n", ntohs(*address_port(&own)));
	fflush(to);
	while (fgets(line, sizeof(line), from)) {
		say_cost(to);
		fflush(to);
	}
}

void far_serve(int listener, const char *token)
{
	static struct door door;
	int control = door_make(&door, listener, token) ? -1 : door_next(&door, NULL);

	door_close(&door);
	close(listener); /* nobody else has business here */
	if (control >= 0)
		serve_order(control, token);
}

/* ---- As a server ---- */

/* A process for each near end, so that each accounts for itself. */
_Noreturn static void serve_all(int listener, const char *token)
{
	static struct door door;

	if (door_make(&door, listener, token))
		_exit(1);
	for (;;) {
		int   control = door_next(&door, NULL);
		pid_t child;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (control < 0)
			_exit(1);
		child = fork();
		if (child == 0) {
#ifdef __linux__
			prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
			door_close(&door);
			close(listener);
			serve_order(control, token);
			_exit(0);
		}
		close(control);
	}
}

/* ssh tells: the client's address and port, the server's address and port. */
static void choose_address(const char *asked, char chosen[FAR_ADDRESS_ROOM])
{
	const char *told = getenv("SSH_CONNECTION");

	if (strcmp(asked, "-"))
		snprintf(chosen, FAR_ADDRESS_ROOM, "%s", asked);
	else if (!told || sscanf(told, "%*s %*s %63s", chosen) != 1)
		strcpy(chosen, "127.0.0.1");
}

int far_end_start(const char *address, const char *token, char chosen[FAR_ADDRESS_ROOM],
                  uint16_t *port)
{
	pid_t maker = getpid(), server;
	int   listener;

	choose_address(address, chosen);
	if (strlen(token) >= TOKEN_ROOM)
		return fail_check("a token has at most %d characters", TOKEN_ROOM - 1);
	listener = far_listen(chosen, port);
	if (listener < 0)
		return fail_check("a far end cannot listen on %s: %s", chosen, strerror(errno));
	server = fork();
	if (server == 0) {
#ifdef __linux__
		prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
		if (getppid() != maker)
			_exit(1);
		serve_all(listener, token);
	}
	close(listener);
	return server < 0 ? fail("fork") : 0;
}
