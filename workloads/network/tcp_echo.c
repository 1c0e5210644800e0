/* tcp_echo -- send requests through TCP to a server process on this machine, which sends each one
 * back.
 *
 * Measures     `requests` requests of `size` bytes, each answered before the next is sent: for
 *              each, the way through the TCP and IP layers and the loopback interface, there and
 *              back, two wake-ups and two switches. With library=0 both programs use plain sockets
 *              (send, recv). With library=1 both use a buffered stream over the socket: fwrite,
 *              fflush and fread of stdio, with their buffer of 4096 bytes and their locks. This
 *              stands for MFC, which the dissertation used on Windows NT. There, too, one archive
 *              for reading and one for writing (CArchive, with a buffer of 4096 bytes) lie over a
 *              file of the socket (CSocketFile), and copy through buffers of their own.
 * Leaves out   making the connection (in setup; see tcp_connect). What probably made MFC slow:
 *              there each event of a socket is a message to a hidden window, and a blocking call
 *              runs the message loop meanwhile. C has nothing like this. So library=1 shows what a
 *              layer of buffers costs, not what MFC costs.
 * Beware       an operation is one performance of all requests. Both ends send at once
 *              (TCP_NODELAY). The dissertation does not say whether its programs did; as each
 *              request waits for its answer, it makes no difference. No packet leaves the machine.
 *              On one processor it measures the scheduler's hand-off, on two a wake-up from one to
 *              the other; `place` chooses. Each request is a different piece of a page of random
 *              bytes, and each answer is compared with it. Under Wine, both levels of `library` use
 *              a socket for synchronous calls, which a stream needs; the other network workloads
 *              use what socket() makes, which also allows asynchronous calls.
 * After        Gonçalves (IME-USP, 2001), sections 5.3 and 6.3, table 6.1: 5,000 to 100,000
 *              requests of 64 bytes on Linux and Windows NT.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../api/workload.h"
#include "loopback.h"

enum { SIZE_MOST = 65536, PIECES = 251, PAGE_BYTES = SIZE_MOST + PIECES, STREAM_BYTES = 4096 };

static uint64_t requests = 1000, size = 64, library;

/* One end of the connection: the socket, or what lies over it. */
struct end {
	socket_t plain;
	FILE    *in, *out;
	char     buffers[2][STREAM_BYTES];
};

static struct {
	socket_t ends[2];
	pid_t    echo;
} s = { .ends = { -1, -1 }, .echo = -1 };

static struct end    client = { .plain = -1 };
static unsigned char page[PAGE_BYTES], answer[SIZE_MOST];
static uint64_t      sent; /* requests so far: which piece of the page is the next */

/* Sends or receives all of it. Return 0, or -1 with errno (0 at the end of the connection). */
static int send_whole(socket_t plain, const unsigned char *from, size_t bytes)
{
	while (bytes) {
		ssize_t done = socket_send(plain, from, bytes);

		if (done < 0)
			return -1;
		from += done;
		bytes -= (size_t)done;
	}
	return 0;
}

static int receive_whole(socket_t plain, unsigned char *into, size_t bytes)
{
	while (bytes) {
		ssize_t done = socket_receive(plain, into, bytes);

		if (done <= 0) {
			errno = done ? errno : 0;
			return -1;
		}
		into += done;
		bytes -= (size_t)done;
	}
	return 0;
}

/* A stream over the socket, for one direction; it has a file of its own to close. */
static FILE *stream_open(socket_t plain, const char *mode, char buffer[STREAM_BYTES])
{
	FILE *stream = socket_stream(plain, mode);

	if (stream)
		setvbuf(stream, buffer, _IOFBF, STREAM_BYTES);
	return stream;
}

static void stream_close(FILE **stream)
{
	if (*stream)
		fclose(*stream);
	*stream = NULL;
}

static int end_open(struct end *end, socket_t plain)
{
	end->plain = plain;
	if (!library)
		return 0;
	end->in = stream_open(plain, "rb", end->buffers[0]);
	end->out = stream_open(plain, "wb", end->buffers[1]);
	return end->in && end->out ? 0 : -1;
}

static int end_send(struct end *end, const unsigned char *from, size_t bytes)
{
	if (!library)
		return send_whole(end->plain, from, bytes);
	return fwrite(from, 1, bytes, end->out) == bytes && !fflush(end->out) ? 0 : -1;
}

static int end_receive(struct end *end, unsigned char *into, size_t bytes)
{
	if (!library)
		return receive_whole(end->plain, into, bytes);
	if (fread(into, 1, bytes, end->in) == bytes)
		return 0;
	errno = feof(end->in) ? 0 : errno;
	return -1;
}

/* The server: sends back what comes, until the connection ends. */
static void serve(void)
{
	static struct end end;

	if (sockets_inherit(&s.ends[1], &s.ends[0]) || end_open(&end, s.ends[1]))
		return;
	while (!end_receive(&end, answer, size))
		if (end_send(&end, answer, size))
			return;
}

static int ask(void)
{
	const unsigned char *request = page + sent++ % PIECES;

	if (end_send(&client, request, size))
		return fail(library ? "fwrite" : "send");
	if (end_receive(&client, answer, size))
		return errno ? fail(library ? "fread" : "recv")
		             : fail_check("the server ended the connection");
	if (memcmp(request, answer, size))
		return fail_check("answer %llu is not what was sent", (unsigned long long)sent);
	return 0;
}

static int setup(void)
{
	uint32_t state = 1999;
	int      outcome;

	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (unsigned char)(next_number(&state) >> 24);
	if ((outcome = loopback_stream_plain(s.ends)))
		return outcome;
	s.echo = partner_start(serve, &s, sizeof(s));
	if (s.echo < 0)
		return fail("making the partner");
	loopback_close(&s.ends[1]);
	if (end_open(&client, s.ends[0]))
		return fail("fdopen");
	return ask(); /* when it is answered, the server is there */
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		for (uint64_t i = 0; i < requests && !outcome; i++)
			outcome = ask();
	return outcome;
}

static void teardown(void)
{
	stream_close(&client.out);
	stream_close(&client.in);
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.echo);
}

static const struct parameter parameters[] = {
	NUMBER("requests", "requests in one performance", &requests, 1, 100000000),
	NUMBER("size", "bytes in a request", &size, 1, SIZE_MOST),
	NUMBER("library", "0: plain sockets; 1: stdio's streams over them", &library, 0, 1),
	{ 0 },
};

/* Of a performance of as many requests as there are unless somebody asks for another number. */
static const struct call calls[] = { { "sendto", 2 * 1000 }, { "recvfrom", 2 * 1000 }, { 0 } };

const struct workload workload_tcp_echo = {
	.name = "tcp_echo",
	.group = "network",
	.summary = "requests sent through TCP to a server that sends each one back",
	.operation = "performance",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.performances = 1,
	.calls = calls,
};
