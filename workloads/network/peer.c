/* peer.c -- see peer.h. */
#include "peer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "../api/random.h"
#include "../api/system.h"
#include "far.h"

enum { TOKEN_BYTES = 16, PATIENCE_S = 5, WHY_MOST = 400, GREET_AGAIN_MS = 500 };

char         peer_name[PEER_MOST + 1] = "loopback";
struct order peer_order = { .flows = 1, .at_once = 1 };
struct wire  peer_wire;
uint64_t     peer_by_ipv6;

/* What passes between this process and its partner before there is a network. */
struct news {
	int      outcome;
	uint16_t port;
	char     why[WHY_MOST];
};

static struct {
	pid_t          partner;
	int            ends[2]; /* to the partner: ours, its */
	int            is_private;
	int            control;
	FILE          *from, *to;
	struct address service;
	int            idle[IDLE_MOST];
	char           token[TOKEN_ROOM], where[ADDRESS_ROOM];
} p = { .partner = -1, .ends = { -1, -1 }, .control = -1 };

int peer_is_here(void)
{
	return p.partner > 0;
}

static void close_one(int *one)
{
	if (*one >= 0)
		close(*one);
	*one = -1;
}

int peer_lost(const char *call)
{
	int error = errno;

	if (!error)
		return fail_check("the far end (%s) ended the connection", p.where);
	if (error == ECONNREFUSED)
		return fail_check("%s: no process listens at the far end (%s)", call, p.where);
	if (error == ETIMEDOUT || error == EINPROGRESS || error == EAGAIN)
		return fail_check(
			"%s: the far end (%s) does not answer: is there a firewall between?", call,
			p.where);
	if (error == ECONNRESET || error == EPIPE)
		return fail_check("%s: the far end (%s) has gone: %s", call, p.where,
		                  strerror(error));
	errno = error;
	return fail(call);
}

/* ---- The far end as a process of this trial ---- */

static const char *own_address(void)
{
	if (p.is_private)
		return peer_by_ipv6 ? NAMESPACE_FAR_6 : NAMESPACE_FAR;
	return peer_by_ipv6 ? "::1" : "127.0.0.1";
}

static void tell_news(int to, int outcome, uint16_t port)
{
	struct news news = { .outcome = outcome, .port = port };

	snprintf(news.why, sizeof(news.why), "%s", outcome ? outcome_why() : "");
	(void)!write(to, &news, sizeof(news));
}

static int hear_news(int from, uint16_t *port)
{
	struct news news;

	if (read_whole(from, &news, sizeof(news)))
		return fail_check("the far end's process ended before it was ready");
	*port = news.port;
	if (news.outcome == OUTCOME_UNSUPPORTED)
		return unsupported("%s", news.why);
	return news.outcome ? fail_check("%s", news.why) : 0;
}

static int listen_here(uint16_t *port)
{
	int listener = far_listen(own_address(), port);

	if (listener >= 0)
		return listener;
	if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)
		return unsupported("there is no IPv%d on this system (%s): %s",
		                   peer_by_ipv6 ? 6 : 4, own_address(),
		                   peer_by_ipv6 ? "ipv6=0 measures by IPv4"
		                                : "ipv6=1 measures by IPv6");
	return fail("bind");
}

/* The partner: its own network if it is to have one, then the far end's work. */
static void be_far_end(void)
{
	uint16_t port = 0;
	int      outcome = 0, listener;
	char     go;

	close_one(&p.ends[0]);
	if (p.is_private) {
		outcome = namespace_enter();
		tell_news(p.ends[1], outcome, 0);
		if (outcome || read_whole(p.ends[1], &go, 1))
			return;
		outcome = namespace_settle(&peer_wire);
	}
	listener = outcome ? outcome : listen_here(&port);
	tell_news(p.ends[1], listener < 0 ? listener : 0, port);
	if (listener >= 0)
		far_serve(listener, p.token);
}

/* A secret of this trial. */
static int start_partner(uint16_t *port)
{
	uint16_t none;
	int      outcome;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p.ends))
		return fail("socketpair");
	if ((outcome = random_text(p.token, TOKEN_BYTES)))
		return outcome;
	if (p.is_private ? (outcome = namespace_enter())
	                 : (outcome = namespace_alone(&peer_order.is_alone)))
		return outcome;
	peer_order.is_alone |= (uint64_t)p.is_private;
	p.partner = partner_start(be_far_end, NULL, 0);
	if (p.partner < 0)
		return fail("making the partner");
	close_one(&p.ends[1]);
	if (p.is_private) {
		if ((outcome = hear_news(p.ends[0], &none)) ||
		    (outcome = namespace_join(p.partner, &peer_wire)))
			return outcome;
		if (write(p.ends[0], "g", 1) != 1)
			return fail("write");
	}
	return hear_news(p.ends[0], port);
}

/* ---- Connections ---- */

static int refused_option(const struct order *options)
{
	if (errno == ENOENT)
		return unsupported("this kernel has no congestion control '%s'",
		                   options->congestion);
	if (errno == EPERM)
		return unsupported("the congestion control '%s' may not be chosen here",
		                   options->congestion);
	return fail("setsockopt");
}

/* Options come before the connection: a window follows from the buffers. */
static int connect_to(const struct address *address, const struct order *options, int kind,
                      int *one)
{
	static const struct timeval patience = { .tv_sec = PATIENCE_S }, for_ever;

	*one = socket(address->is.ss_family, kind | SOCK_CLOEXEC, 0);
	if (*one < 0)
		return fail("socket");
	if (options && socket_options(*one, options))
		return refused_option(options);
	setsockopt(*one, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(*one, (const struct sockaddr *)&address->is, address->length))
		return peer_lost("connect");
	setsockopt(*one, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof(for_ever));
	return 0;
}

/* Says the token and waits until it comes back: then the far end serves this socket, and nobody
 * else. */
static int introduce_flow(int one, const union message *said)
{
	union message back;

	if (write_whole(one, said, sizeof(*said)))
		return peer_lost("write");
	return read_whole(one, &back, sizeof(back)) ? peer_lost("read") : 0;
}

/* The same by datagrams, which may be lost. Whatever else comes is older than the connection, and
 * somebody else's. */
static int introduce_datagrams(int one, const union message *said)
{
	for (int tries = 0; tries < PATIENCE_S * 1000 / GREET_AGAIN_MS; tries++) {
		struct pollfd polled = { .fd = one, .events = POLLIN };
		union message back;
		ssize_t       got;

		if (write(one, said, sizeof(*said)) != (ssize_t)sizeof(*said))
			return peer_lost("write");
		if (poll(&polled, 1, GREET_AGAIN_MS) < 0 && errno != EINTR)
			return fail("poll");
		while ((got = recv(one, &back, sizeof(back), MSG_DONTWAIT)) >= 0)
			if (got == (ssize_t)sizeof(back) && !memcmp(&back, said, sizeof(back)))
				return 0;
		if (errno != EAGAIN && errno != EINTR)
			return peer_lost("recv");
	}
	return fail_check("no datagram came back from the far end: is there a firewall between?");
}

static void introduction(enum role role, union message *said)
{
	memset(said, 0, sizeof(*said));
	said->is.role = (char)role;
	strcpy(said->is.token, p.token);
}

int peer_connect(uint64_t number, enum role role, int *one)
{
	struct address address = p.service;
	union message  said;
	int            outcome;

	if (peer_order.service == SERVE_DATAGRAMS)
		*address_port(&address) = htons(
			(uint16_t)(ntohs(*address_port(&address)) + number));
	outcome = connect_to(&address, &peer_order,
	                     peer_order.service == SERVE_DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM, one);
	if (outcome || peer_order.service == SERVE_CONNECTIONS)
		return outcome;
	introduction(role, &said);
	return peer_order.service == SERVE_DATAGRAMS ? introduce_datagrams(*one, &said)
	                                             : introduce_flow(*one, &said);
}

int peer_connect_only(void)
{
	int one = socket(p.service.is.ss_family, SOCK_STREAM, 0), kept;

	if (one < 0 || (!socket_buffers(one, peer_order.buffer) &&
	                !connect(one, (struct sockaddr *)&p.service.is, p.service.length)))
		return one;
	kept = errno;
	close(one);
	errno = kept;
	return -1;
}

/* ---- The order ---- */

static int hear_line(char *line, size_t room)
{
	errno = 0;
	return fgets(line, (int)room, p.from) ? 0 : peer_lost("read");
}

/* Filled up with blanks. */
static int say_line(const char *line)
{
	size_t bytes = (strlen(line) / MESSAGE_BYTES + 1) * MESSAGE_BYTES;

	fprintf(p.to, "%-*s\n", (int)bytes - 1, line);
	return fflush(p.to) ? peer_lost("write") : 0;
}

static int give_order(const struct address *control)
{
	char          line[ORDER_LINE];
	union message said;
	unsigned      port;
	int           outcome, length;

	introduction(ROLE_CONTROL, &said);
	if (write_whole(p.control, &said, sizeof(said)))
		return peer_lost("write");
	length = snprintf(line, sizeof(line), "order %u %u %s", (unsigned)peer_order.service,
	                  (unsigned)peer_order.role,
	                  *peer_order.congestion ? peer_order.congestion : "-");
	for (unsigned i = 0; i < ORDER_NUMBERS; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length, " %" PRIu64,
		                   *order_number(&peer_order, i));
	if ((outcome = say_line(line)) || (outcome = hear_line(line, sizeof(line))))
		return outcome;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "port %u", &port) != 1 || port > UINT16_MAX)
		return fail_check("the far end (%s) cannot serve this: %s", p.where,
		                  !strncmp(line, "no ", 3) ? line + 3 : line);
	p.service = *control;
	*address_port(&p.service) = htons((uint16_t)port);
	return 0;
}

/* ---- All of it ---- */

static int is_on_wire(void)
{
	return peer_wire.delay_us || peer_wire.rate_mbit || peer_wire.loss_ppm || peer_wire.mtu;
}

static int find_peer(struct address *control)
{
	char     numbers[ADDRESS_ROOM];
	unsigned far_port;
	uint16_t port;
	int      outcome, is_local = !strcmp(peer_name, "loopback");

	p.is_private = !strcmp(peer_name, "namespace");
	if (is_on_wire() && !p.is_private)
		return unsupported("delay_us, rate_mbit, loss_ppm and mtu are set on a wire of "
		                   "ours: peer=namespace");
	peer_order.is_alone = 0;
	if (is_local || p.is_private) {
		if ((outcome = start_partner(&port)))
			return outcome;
		address_read(own_address(), port, control);
	} else if (sscanf(peer_name, "%45s %u %62s", numbers, &far_port, p.token) != 3 ||
	           far_port > UINT16_MAX || address_read(numbers, (uint16_t)far_port, control)) {
		return fail_check(
			"peer is '%.60s', and must be loopback, namespace, or ADDRESS PORT TOKEN",
			peer_name);
	}
	address_text(control, p.where);
	return 0;
}

/* Here, before the far end is asked for the same: whose kernel lacks it can then be said. */
static int check_options(void)
{
	int one = socket(peer_by_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int outcome = 0;

	if (one >= 0 && socket_options(one, &peer_order))
		outcome = refused_option(&peer_order);
	if (one >= 0)
		close(one);
	return outcome;
}

static int open_idle(void)
{
	int outcome = 0;

	for (uint64_t i = 0; i < peer_order.idle && !outcome; i++)
		outcome = peer_connect(0, ROLE_IDLE, &p.idle[i]);
	return outcome;
}

int peer_open(void)
{
	struct address control;
	int            outcome;

	memset(p.idle, -1, sizeof(p.idle));
	if ((outcome = files_allow(order_connections(&peer_order))))
		return outcome;
	if (strchr(peer_order.congestion, '\n') || strchr(peer_order.congestion, ' '))
		return fail_check("congestion is '%s', and must be one word",
		                  peer_order.congestion);
	if ((outcome = check_options()) || (outcome = find_peer(&control)) ||
	    (outcome = connect_to(&control, NULL, SOCK_STREAM, &p.control)))
		return outcome;
	p.from = fdopen(p.control, "r");
	p.to = fdopen(dup(p.control), "w");
	if (!p.from || !p.to)
		return fail("fdopen");
	outcome = give_order(&control);
	return outcome ? outcome : open_idle();
}

void peer_close(void)
{
	for (uint64_t i = 0; i < peer_order.idle; i++)
		if (p.idle[i] > 0)
			close_one(&p.idle[i]);
	if (p.to)
		fclose(p.to);
	if (p.from)
		fclose(p.from);
	else
		close_one(&p.control);
	p.from = p.to = NULL;
	p.control = -1;
	close_one(&p.ends[0]);
	close_one(&p.ends[1]);
	partner_end(&p.partner);
}

int peer_cost(struct cost *used)
{
	char line[ORDER_LINE];
	int  outcome;

	if ((outcome = say_line("cost")) || (outcome = hear_line(line, sizeof(line))))
		return outcome;
	if (sscanf(line, "cost %" SCNu64 " %" SCNu64, &used->used_ns, &used->datagrams) != 2)
		return fail_check("the far end (%s) said of its cost: %.60s", p.where, line);
	return 0;
}
