/* postgresql.c -- PostgreSQL's protocol, version 3.0, as its manual has it ("Frontend/Backend
 * Protocol"): simple queries, and a password by SCRAM-SHA-256, without encryption. */
#include <string.h>
#include <unistd.h>

#include "../../base/numbers.h"
#include "../api/system.h"
#include "../api/workload.h"
#include "database.h"
#include "login.h"
#include "server.h"

enum { VERSION = 196608, HEAD = 5, ERROR_SHOWN = 200, LOOK_AGAIN_US = 20000 };
enum {
	NOT_READY = 1
}; /* an outcome of this file alone: it accepts connections, and is still starting */

static uint32_t number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void put_number(unsigned char *into, size_t number)
{
	for (int i = 0; i < 4; i++)
		into[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* One message of the server: its type, and what follows its length. */
struct said {
	unsigned char  type;
	unsigned char *bytes;
	size_t         count;
};

static int hear(struct link *link, struct said *said)
{
	unsigned char *head;
	uint32_t       length;
	int            outcome = wire_take(&link->wire, HEAD, &head);

	if (outcome)
		return outcome;
	said->type = head[0];
	length = number_at(head + 1);
	if (length < 4 || length > WIRE_MOST)
		return fail_check("PostgreSQL sent a message '%c' with a length of %u",
		                  said->type > ' ' && said->type < 127 ? said->type : '?', length);
	said->count = length - 4;
	return wire_take(&link->wire, said->count, &said->bytes);
}

/* A field of an error; empty if there is none. */
static const char *field_of(const struct said *said, char kind)
{
	const char *at = (const char *)said->bytes, *end = at + said->count;

	while (at < end && *at) {
		const char *zero = memchr(at, 0, (size_t)(end - at));

		if (!zero)
			break;
		if (*at == kind)
			return at + 1;
		at = zero + 1;
	}
	return "";
}

static int refuse(const struct said *said)
{
	if (!strcmp(field_of(said, 'C'), "57P03"))
		return NOT_READY;
	return fail_check("PostgreSQL refused: %.*s (%.5s)", ERROR_SHOWN, field_of(said, 'M'),
	                  field_of(said, 'C'));
}

static int unexpected(const struct said *said)
{
	return fail_check("PostgreSQL sent a message of type %u, which was not expected",
	                  said->type);
}

/* The cells of one row: a count, and for each a length and bytes. */
static int take_row(struct answer *answer, const struct said *said)
{
	const unsigned char *at = said->bytes, *end = at + said->count;
	unsigned             columns = said->count < 2 ? 0 : (unsigned)(at[0] << 8 | at[1]);

	at += 2;
	for (unsigned i = 0; i < columns; i++) {
		uint32_t length = end - at < 4 ? UINT32_MAX : number_at(at);
		int      outcome;

		if (length == UINT32_MAX || length > (size_t)(end - at) - 4)
			return fail_check("PostgreSQL sent a row that is cut short, or has a null");
		if ((outcome = answer_put(answer, i, at + 4, length)))
			return outcome;
		at += 4 + length;
	}
	answer->columns = columns;
	answer->rows++;
	return 0;
}

/* "INSERT 0 3", "UPDATE 1", "CREATE TABLE": the last word counts, if it is a number. */
static int take_tag(struct answer *answer, const struct said *said)
{
	const char *tag = (const char *)said->bytes, *space;
	uint64_t    count;

	if (!memchr(tag, 0, said->count))
		return fail_check("PostgreSQL ended a statement without a word");
	space = strrchr(tag, ' ');
	if (strncmp(tag, "SELECT", 6) && space && !parse_number(space + 1, &count))
		answer->affected = count;
	return 0;
}

/* ---- Logging in ---- */

/* What the server asks for, or says of the log-in (AuthenticationRequest): its first word. */
enum { LOGGED_IN = 0, ASKS_FOR_SASL = 10, GOES_ON = 11, IS_PROVEN = 12 };

static int send_password(struct link *link, const void *head, size_t head_count,
                         const char *message)
{
	unsigned char packet[HEAD + 64 + SCRAM_MESSAGE_MOST] = { 'p' };
	size_t        count = strlen(message);

	put_number(packet + 1, 4 + head_count + count);
	memcpy(packet + HEAD, head, head_count);
	memcpy(packet + HEAD + head_count, message, count);
	return wire_send(&link->wire, packet, HEAD + head_count + count);
}

static int begin_scram(struct link *link, struct scram *scram)
{
	static const char mechanism[] = "SCRAM-SHA-256";
	unsigned char     head[sizeof(mechanism) + 4];
	int               outcome = scram_begin(scram);

	memcpy(head, mechanism, sizeof(mechanism));
	put_number(head + sizeof(mechanism), strlen(scram->message));
	return outcome ? outcome : send_password(link, head, sizeof(head), scram->message);
}

static int go_on_with_log_in(struct link *link, const struct said *said, struct scram *scram)
{
	const char *text = (const char *)said->bytes + 4;
	int         outcome;

	switch (said->count < 4 ? UINT32_MAX : number_at(said->bytes)) {
	case LOGGED_IN:
		return 0;
	case ASKS_FOR_SASL:
		return begin_scram(link, scram);
	case GOES_ON:
		outcome = scram_answer(scram, server_secret(), text, said->count - 4);
		return outcome ? outcome : send_password(link, "", 0, scram->message);
	case IS_PROVEN:
		return scram_check(scram, text, said->count - 4);
	default:
		return fail_check(
			"PostgreSQL asks for a password, and there is none but for SCRAM-SHA-256");
	}
}

/* A setting of the session, which the server tells: a name and a value. Whoever got the role of a
 * superuser could run commands as the server's user. */
static int refuse_superuser(const struct said *said)
{
	static const char words[] = "is_superuser\0on";

	if (said->count < sizeof(words) || memcmp(said->bytes, words, sizeof(words)))
		return 0;
	return fail_check("PostgreSQL lets the clients in as a superuser, who may run any command: "
	                  "give the role 'steelyard' no such right");
}

/* Hears until the server is ready for a statement. An error is told when it is over. */
static int await_ready(struct link *link)
{
	struct scram scram = { .first = "" };

	for (;;) {
		struct said said;
		int         outcome = hear(link, &said);

		if (outcome)
			return outcome;
		switch (said.type) {
		case 'Z':
			return 0;
		case 'E':
			return refuse(&said); /* a client does not go on from an error */
		case 'R':
			outcome = go_on_with_log_in(link, &said, &scram);
			break;
		case 'S':
			outcome = refuse_superuser(&said);
			break;
		case 'D':
			outcome = take_row(&link->answer, &said);
			break;
		case 'C':
			outcome = take_tag(&link->answer, &said);
			break;
		case 'A':
		case 'I':
		case 'K':
		case 'N':
		case 'T':
			break;
		default:
			return unexpected(&said);
		}
		if (outcome)
			return outcome;
	}
}

static int greet(struct link *link)
{
	static const char words[] = "user\0steelyard\0database\0postgres\0";
	unsigned char     packet[8 + sizeof(words)];
	int               outcome = wire_open(&link->wire, server_port(), crowd_timeout_ms);

	put_number(packet, sizeof(packet));
	put_number(packet + 4, VERSION);
	memcpy(packet + 8, words, sizeof(words));
	if (!outcome)
		outcome = wire_send(&link->wire, packet, sizeof(packet));
	return outcome ? outcome : await_ready(link);
}

static int postgresql_open(struct link *link)
{
	uint64_t deadline = clock_ns() + crowd_timeout_ms * 1000000;
	int      outcome;

	while ((outcome = greet(link)) == NOT_READY && clock_ns() < deadline) {
		wire_close(&link->wire);
		usleep(LOOK_AGAIN_US);
	}
	return outcome == NOT_READY ? fail_check("PostgreSQL was still starting after %llu ms",
	                                         (unsigned long long)crowd_timeout_ms)
	                            : outcome;
}

static int postgresql_ask(struct link *link)
{
	unsigned char head[HEAD] = { 'Q' };
	unsigned char packet[HEAD + STATEMENT_MOST];
	size_t        count = strlen(link->statement) + 1;
	int           outcome;

	put_number(head + 1, count + 4);
	memcpy(packet, head, HEAD);
	memcpy(packet + HEAD, link->statement, count);
	outcome = wire_send(&link->wire, packet, HEAD + count);
	if (!outcome)
		outcome = await_ready(link);
	return outcome == NOT_READY
	               ? fail_check("PostgreSQL restarts: one of its processes has ended")
	               : outcome;
}

static void postgresql_close(struct link *link)
{
	static const unsigned char farewell[HEAD] = { 'X', 0, 0, 0, 4 };

	if (link->wire.socket >= 0)
		wire_send(&link->wire, farewell, HEAD);
	wire_close(&link->wire);
}

const struct dialect dialect_postgresql = {
	.name = "postgresql",
	.open = postgresql_open,
	.ask = postgresql_ask,
	.close = postgresql_close,
};
