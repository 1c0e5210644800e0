/* network_by_hand -- transactions and a stream, as one would write them by hand.
 *
 *	ping COUNT NEAR FAR                       a byte to another process and back, on those
 * processors answer ADDRESS PORT KIND                  a byte back for each that comes, until it is
 * killed ask ADDRESS PORT KIND SECONDS             asks it for one after another: tcp, udp, or
 * connect: a connection for each, which ends by a reset sink ADDRESS PORT READ IS_LIKE  reads a
 * stream, that many bytes at once stream ADDRESS PORT WRITE IS_LIKE SECONDS sends one to it in
 * writes of that many bytes
 *
 * IS_LIKE 1 is as iperf3 does it: sockets that do not block, a select before each read and before
 * each ten writes. Prints operations, or bytes, a second; the first tenth of a second of a stream
 * does not count. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITES_A_LOOK = 10 };

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int open_socket(void)
{
	int one = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return one;
}

/* ---- Ping-pong ---- */

static void keep_to(int processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)processor, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		exit(1);
}

static int bounce(int one, long count)
{
	char byte = 0;

	for (long i = 0; i < count; i++)
		if (write(one, &byte, 1) != 1 || read(one, &byte, 1) != 1)
			return 1;
	return 0;
}

static int ping(long count, int near, int far)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          length = sizeof(address);
	int                listener = open_socket(), one;
	double             began;
	char               byte;

	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		return 2;
	if (fork() == 0) {
		keep_to(far);
		one = accept(listener, NULL, NULL); /* with the listener's TCP_NODELAY */
		while (read(one, &byte, 1) == 1 && write(one, &byte, 1) == 1)
			continue;
		return 0;
	}
	keep_to(near);
	one = open_socket();
	if (connect(one, (struct sockaddr *)&address, length) || bounce(one, count / 10))
		return 1;
	began = now_s();
	if (bounce(one, count))
		return 1;
	printf("%.0f\n", (double)count / (now_s() - began));
	close(one);
	wait(NULL);
	return 0;
}

/* ---- Transactions between two programs ---- */

static int answer_datagrams(const struct sockaddr_in *address)
{
	int                one = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in from;
	socklen_t          length = sizeof(from);
	char               byte;

	if (bind(one, (const struct sockaddr *)address, sizeof(*address)))
		return 1;
	puts("ready");
	fflush(stdout);
	while (recvfrom(one, &byte, 1, 0, (struct sockaddr *)&from, &length) == 1)
		if (sendto(one, &byte, 1, 0, (struct sockaddr *)&from, length) != 1)
			return 1;
	return 1;
}

static int answer(const struct sockaddr_in *address, const char *kind)
{
	int  listener = open_socket(), one;
	char byte;

	if (!strcmp(kind, "udp"))
		return answer_datagrams(address);
	if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) ||
	    listen(listener, 128))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		one = accept(listener, NULL, NULL);
		while (read(one, &byte, 1) == 1 && write(one, &byte, 1) == 1)
			continue;
		close(one);
	}
}

static int converse(const struct sockaddr_in *address)
{
	struct linger reset = { .l_onoff = 1 };
	int           one = open_socket(), failed;

	failed = connect(one, (const struct sockaddr *)address, sizeof(*address)) ||
	         setsockopt(one, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) || bounce(one, 1);
	return close(one) || failed;
}

static int ask(const struct sockaddr_in *address, const char *kind, double seconds)
{
	int    is_connecting = !strcmp(kind, "connect");
	int    one = strcmp(kind, "udp") ? open_socket() : socket(AF_INET, SOCK_DGRAM, 0);
	double start, began = 0;
	long   count = 0;

	if (!is_connecting && connect(one, (const struct sockaddr *)address, sizeof(*address)))
		return 1;
	for (start = now_s(); now_s() < start + 0.1 + seconds; count++) {
		if (!began && now_s() > start + 0.1) {
			began = now_s();
			count = 0;
		}
		if (is_connecting ? converse(address) : bounce(one, 1))
			return 1;
	}
	printf("%.0f\n", (double)count / (now_s() - began));
	return 0;
}

/* ---- Stream ---- */

static void look(int one, int is_writing)
{
	struct timeval a_second = { .tv_sec = 1 };
	fd_set         set;

	FD_ZERO(&set);
	FD_SET(one, &set);
	select(one + 1, is_writing ? NULL : &set, is_writing ? &set : NULL, NULL, &a_second);
}

static int sink(const struct sockaddr_in *address, unsigned char *bytes, size_t size, int is_like)
{
	int     listener = open_socket(), one;
	ssize_t got = 1;

	if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) ||
	    listen(listener, 1))
		return 1;
	puts("ready");
	fflush(stdout);
	one = accept(listener, NULL, NULL);
	if (is_like)
		fcntl(one, F_SETFL, O_NONBLOCK);
	while (got > 0 || (got < 0 && errno == EAGAIN)) {
		if (is_like)
			look(one, 0);
		got = read(one, bytes, size);
	}
	return 0;
}

/* Returns how many bytes went; less than `size` where no more has room. */
static size_t send_piece(int one, const unsigned char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = write(one, bytes + done, size - done);

		if (got < 0 && errno != EAGAIN)
			exit(1);
		if (got < 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int stream(const struct sockaddr_in *address, unsigned char *bytes, size_t size, int is_like,
                  double seconds)
{
	int    one = open_socket();
	double start, began = 0, sent = 0;

	if (connect(one, (const struct sockaddr *)address, sizeof(*address)))
		return 1;
	if (is_like)
		fcntl(one, F_SETFL, O_NONBLOCK);
	for (start = now_s(); now_s() < start + 0.1 + seconds;) {
		size_t went = size;

		if (!began && now_s() > start + 0.1) {
			began = now_s();
			sent = 0;
		}
		if (is_like)
			look(one, 1);
		for (int i = 0; i < WRITES_A_LOOK && went == size; i++) {
			went = send_piece(one, bytes, size);
			sent += (double)went;
		}
	}
	fcntl(one, F_SETFL, 0);
	shutdown(one, SHUT_WR);
	(void)!read(one, bytes, 1); /* when all has been read there */
	printf("%.0f\n", sent / (now_s() - began));
	return 0;
}

int main(int argc, char *argv[])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	unsigned char     *bytes;
	size_t             size;

	if (argc == 5 && !strcmp(argv[1], "ping"))
		return ping(atol(argv[2]), atoi(argv[3]), atoi(argv[4]));
	if (argc < 5 || !inet_pton(AF_INET, argv[2], &address.sin_addr))
		return 2;
	address.sin_port = htons((in_port_t)atoi(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "answer"))
		return answer(&address, argv[4]);
	if (argc == 6 && !strcmp(argv[1], "ask"))
		return ask(&address, argv[4], atof(argv[5]));
	if (argc < 6)
		return 2;
	size = (size_t)atol(argv[4]);
	bytes = malloc(size);
	if (!bytes)
		return 1;
	memset(bytes, 0x55, size);
	if (!strcmp(argv[1], "sink"))
		return sink(&address, bytes, size, atoi(argv[5]));
	return argc == 7 ? stream(&address, bytes, size, atoi(argv[5]), atof(argv[6])) : 2;
}
