/* remote.c -- see remote.h.
 *
 * A message is a row of 32-bit words, the highest byte first. Over TCP one more stands before it,
 * the mark of a record: its length, and the highest bit for the record's last part. Neither the
 * program nor its port is announced to anybody: no portmapper need run.
 */
#include "remote.h"

#include <errno.h>
#include <string.h>

#include "loopback.h"

enum {
	WORDS_MOST = 32,
	PATIENCE_S = 5,
	/* RFC 5531's numbers. */
	CALL = 0,
	REPLY = 1,
	RPC_VERSION = 2,
	AUTH_NONE = 0,
	ACCEPTED = 0,
	NULL_PROCEDURE = 0,
};
#define LAST_PART 0x80000000u

enum status { SUCCESS, NO_PROGRAM, NO_VERSION, NO_PROCEDURE, GARBAGE };

uint64_t remote_library;

static struct {
	socket_t       ends[2]; /* the client's, the server's */
	enum transport transport;
	uint32_t       serial; /* of the last call */
	pid_t          server;
} s = { .ends = { -1, -1 }, .server = -1 };

uint32_t remote_next(uint32_t number)
{
	return number + 1;
}

/* A message that is written, or read. The mark, if there is one, is before it. */
struct message {
	unsigned char bytes[4 * (1 + WORDS_MOST)];
	size_t        at, end; /* of `bytes` */
};

static void put(struct message *message, uint32_t word)
{
	for (int byte = 3; byte >= 0; byte--)
		message->bytes[message->at++] = (unsigned char)(word >> 8 * byte);
}

/* Beyond the end all words are 0, and `at` tells. */
static uint32_t get(struct message *message)
{
	uint32_t word = 0;

	for (int byte = 0; message->at + 4 <= message->end && byte < 4; byte++)
		word = word << 8 | message->bytes[message->at + (size_t)byte];
	message->at += 4;
	return word;
}

static int is_whole(const struct message *message)
{
	return message->at == message->end;
}

static void begin(struct message *message)
{
	message->at = 4;
}

/* Returns 0, or -1 with errno. */
static int send_message(socket_t one, struct message *message)
{
	size_t begin = s.transport == OVER_TCP ? 0 : 4;

	message->end = message->at;
	message->at = 0;
	put(message, LAST_PART | (uint32_t)(message->end - 4));
	return socket_write_whole(one, message->bytes + begin, message->end - begin);
}

/* Over TCP: reads on until there is a record, which by the rules of this conversation is all there
 * is. Returns 0, or -1 with errno: 0 at the end of the stream, or of a message that is none. */
static int receive_message(socket_t one, struct message *message)
{
	size_t begin = s.transport == OVER_TCP ? 0 : 4, wanted = begin + 4;

	message->end = begin;
	do {
		ssize_t got = socket_read(one, message->bytes + message->end,
		                          sizeof(message->bytes) - message->end);

		/* A socket with a timer is interrupted when its process is stopped and goes on. */
		if (got < 0 && socket_trouble(errno) == SOCKET_INTERRUPTED)
			continue;
		if (got <= 0) {
			errno = got ? errno : 0;
			return -1;
		}
		message->end += (size_t)got;
		message->at = 0;
		if (s.transport == OVER_TCP && message->end >= 4)
			wanted = 4 + (get(message) & ~LAST_PART);
	} while (message->end < wanted && wanted <= sizeof(message->bytes));
	message->at = 4;
	errno = 0;
	return s.transport == OVER_UDP || message->end == wanted ? 0 : -1;
}

static void put_nobody(struct message *message)
{
	put(message, AUTH_NONE);
	put(message, 0);
}

/* Whether it names nobody. */
static int get_nobody(struct message *message)
{
	uint32_t kind = get(message);

	return get(message) == 0 && kind == AUTH_NONE;
}

/* What the server answers with: a status, and of a number that was asked for, the next. */
static void answer(struct message *reply, uint32_t serial, enum status status)
{
	begin(reply);
	put(reply, serial);
	put(reply, REPLY);
	put(reply, ACCEPTED);
	put_nobody(reply);
	put(reply, status);
}

struct procedure {
	uint32_t number;
	enum status (*perform)(struct message *arguments, struct message *reply);
};

static enum status perform_nothing(struct message *arguments, struct message *reply)
{
	(void)reply;
	return is_whole(arguments) ? SUCCESS : GARBAGE;
}

static enum status perform_next(struct message *arguments, struct message *reply)
{
	uint32_t number = get(arguments);

	if (!is_whole(arguments))
		return GARBAGE;
	put(reply, remote_next(number));
	return SUCCESS;
}

static const struct procedure procedures[] = {
	{ NULL_PROCEDURE, perform_nothing },
	{ REMOTE_NEXT, perform_next },
};

static const struct procedure *find_procedure(uint32_t number)
{
	for (size_t i = 0; i < sizeof(procedures) / sizeof(*procedures); i++)
		if (procedures[i].number == number)
			return &procedures[i];
	return NULL;
}

/* Returns 0, or -1 if it is no call at all, to which there is no answer. */
static int dispatch(struct message *call, struct message *reply)
{
	uint32_t                serial = get(call), program, version, number;
	const struct procedure *procedure;
	enum status             status;

	if (get(call) != CALL || get(call) != RPC_VERSION)
		return -1;
	program = get(call);
	version = get(call);
	number = get(call);
	if (!get_nobody(call) || !get_nobody(call))
		return -1;
	procedure = find_procedure(number);
	answer(reply, serial, SUCCESS);
	status = program != REMOTE_PROGRAM   ? NO_PROGRAM
	         : version != REMOTE_VERSION ? NO_VERSION
	         : !procedure                ? NO_PROCEDURE
	                                     : procedure->perform(call, reply);
	if (status != SUCCESS)
		answer(reply, serial, status);
	return 0;
}

/* The other process: until the connection ends, or an empty datagram comes. */
static void serve(void)
{
	struct message call, reply;

	if (sockets_inherit(&s.ends[1], &s.ends[0]))
		return;
	while (!receive_message(s.ends[1], &call))
		if (!dispatch(&call, &reply) && send_message(s.ends[1], &reply))
			return;
}

/* Sends a call, of which the arguments are there, and leaves the results to be read. */
static int call_procedure(struct message *message)
{
	uint32_t serial, is_reply, is_accepted, status;
	int      nobody;

	if (send_message(s.ends[0], message))
		return fail("sending the call");
	if (receive_message(s.ends[0], message)) {
		if (socket_trouble(errno) == SOCKET_TOO_LATE)
			return fail_check("no answer came within %d s", PATIENCE_S);
		return errno ? fail("waiting for the answer")
		             : fail_check("the answer is no whole message");
	}
	serial = get(message);
	is_reply = get(message) == REPLY;
	is_accepted = get(message) == ACCEPTED;
	nobody = get_nobody(message);
	status = get(message);
	if (serial != s.serial || !is_reply || !is_accepted || !nobody)
		return fail_check("what came is not the answer to call %u", s.serial);
	return status == SUCCESS ? 0 : fail_check("the call was refused with status %u", status);
}

static void begin_call(struct message *message, uint32_t procedure)
{
	begin(message);
	put(message, ++s.serial);
	put(message, CALL);
	put(message, RPC_VERSION);
	put(message, REMOTE_PROGRAM);
	put(message, REMOTE_VERSION);
	put(message, procedure);
	put_nobody(message);
	put_nobody(message);
}

static int call_empty(void)
{
	struct message message;
	int            outcome;

	begin_call(&message, NULL_PROCEDURE);
	outcome = call_procedure(&message);
	return outcome || is_whole(&message) ? outcome : fail_check("an empty answer is not empty");
}

static int start(enum transport transport)
{
	int outcome;

	s.transport = transport;
	outcome = transport == OVER_TCP ? loopback_stream(s.ends) : loopback_datagrams(s.ends);
	if (outcome)
		return outcome;
	if (socket_wait_at_most(s.ends[0], PATIENCE_S))
		return fail("setsockopt");
	s.server = partner_start(serve, &s, sizeof(s));
	if (s.server < 0)
		return fail("making the partner");
	loopback_close(&s.ends[1]);
	return call_empty();
}

static int call_next(uint32_t number)
{
	struct message message;
	uint32_t       result;
	int            outcome;

	begin_call(&message, REMOTE_NEXT);
	put(&message, number);
	if ((outcome = call_procedure(&message)))
		return outcome;
	result = get(&message);
	return is_whole(&message) && result == number + 1
	               ? 0
	               : fail_check("after %u came %u", number, result);
}

int remote_start(enum transport transport)
{
	return remote_library ? library_start(transport) : start(transport);
}

int remote_call(uint64_t operations)
{
	static uint32_t number;
	int             outcome = 0;

	if (remote_library)
		return library_call(operations);
	while (operations-- && !outcome)
		outcome = call_next(number++);
	return outcome;
}

/* Over UDP nobody sees the other's end. */
void remote_end(void)
{
	if (remote_library) {
		library_end();
		return;
	}
	if (s.transport == OVER_UDP && s.server >= 0 && s.ends[0] >= 0)
		socket_send(s.ends[0], "", 0);
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.server);
}
