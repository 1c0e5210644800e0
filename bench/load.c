/* load.c -- asks a server on loopback for one page, over and over, and tells how often it was
 * answered.
 *
 *	load COUNT PORT PATH CONNECTIONS
 *
 * Every connection stays open and has one request under way. COUNT is a file: its first eight bytes
 * are the number of answers so far, and may be read at any time. An answer that is not 200, or a
 * connection that ends, ends all of it, with status 1. Until it is killed, or its standard input
 * ends.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 256, ROOM = 65536 };

struct connection {
	int    socket;
	size_t received, expected; /* of the answer; expected: 0 until its head has been read */
	char   answer[ROOM];
};

static char   request[512];
static size_t request_length;

static int fail(const char *what)
{
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

static void ask(struct connection *connection)
{
	connection->received = connection->expected = 0;
	if (write(connection->socket, request, request_length) != (ssize_t)request_length)
		fail("the server takes no request");
}

static void open_connection(struct connection *connection, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int                on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection->socket < 0 ||
	    connect(connection->socket, (struct sockaddr *)&address, sizeof address))
		fail("cannot connect");
	setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Whether the answer is whole. */
static int take(struct connection *connection)
{
	ssize_t got = read(connection->socket, connection->answer + connection->received,
	                   ROOM - 1 - connection->received);
	char   *end, *length;

	if (got <= 0)
		fail("the server has hung up");
	connection->received += (size_t)got;
	connection->answer[connection->received] = '\0';
	if (!connection->expected) {
		end = strstr(connection->answer, "\r\n\r\n");
		if (!end)
			return 0;
		length = strcasestr(connection->answer, "\r\nContent-Length:");
		if (strncmp(connection->answer, "HTTP/1.1 200 ", 13) || !length || length > end)
			fail("an answer is not 200, or has no length");
		connection->expected = (size_t)(end + 4 - connection->answer) +
		                       strtoul(length + 17, NULL, 10);
	}
	return connection->received >= connection->expected;
}

int main(int argc, char *argv[])
{
	static struct connection connections[CONNECTIONS_MOST];
	volatile uint64_t       *answers;
	struct epoll_event       event = { .events = EPOLLIN }, events[CONNECTIONS_MOST];
	int                      poller = epoll_create1(EPOLL_CLOEXEC), file, count;

	if (argc != 5 || (count = atoi(argv[4])) < 1 || count > CONNECTIONS_MOST)
		return 2;
	file = open(argv[1], O_RDWR);
	answers = mmap(NULL, sizeof *answers, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file < 0 || answers == MAP_FAILED)
		fail("cannot map the count");
	request_length = (size_t)snprintf(request, sizeof request,
	                                  "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", argv[3]);
	for (int i = 0; i < count; i++) {
		open_connection(&connections[i], (uint16_t)atoi(argv[2]));
		event.data.ptr = &connections[i];
		epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].socket, &event);
		ask(&connections[i]);
	}
	event.data.ptr = NULL;
	epoll_ctl(poller, EPOLL_CTL_ADD, 0, &event);
	for (;;) {
		int ready = epoll_wait(poller, events, CONNECTIONS_MOST, -1);

		for (int i = 0; i < ready; i++) {
			struct connection *connection = events[i].data.ptr;

			if (!connection)
				return 0;
			if (take(connection)) {
				++*answers;
				ask(connection);
			}
		}
	}
}
