/* mysql.c -- the protocol of MySQL and MariaDB, version 10, as MariaDB's documentation has it: text
 * queries, as the user steelyard by mysql_native_password. */
#include <stdio.h>
#include <string.h>

#include "../api/workload.h"
#include "database.h"
#include "login.h"
#include "server.h"

enum { HEAD = 4, ERROR_SHOWN = 200, COLUMNS_MOST = 64, MYSQL_UTF8 = 33 };
enum { OF_OK = 0x00, OF_INFILE = 0xfb, OF_END = 0xfe, OF_ERROR = 0xff, NULL_CELL = 0xfb };
/* Capabilities: long flags, protocol 4.1, transactions, a scramble of 20 bytes, named plugins. */
enum { CAPABILITIES = 1 << 2 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19 };

/* A packet of the server, and where in it the reader is. */
struct packet {
	const unsigned char *at, *end;
	unsigned char        sequence;
};

static int cut_short(void)
{
	return fail_check("the server sent a packet that is cut short");
}

static int hear(struct link *link, struct packet *packet)
{
	unsigned char *bytes;
	size_t         count;
	int            outcome = wire_take(&link->wire, HEAD, &bytes);

	if (outcome)
		return outcome;
	count = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
	if (bytes[3] != packet->sequence)
		return fail_check("the server sent packet %u where packet %u was due", bytes[3],
		                  packet->sequence);
	packet->sequence++;
	if (!count)
		return fail_check("the server sent an empty packet");
	outcome = wire_take(&link->wire, count, &bytes);
	packet->at = bytes;
	packet->end = bytes + count;
	return outcome;
}

static int tell(struct link *link, const void *bytes, size_t count, unsigned char sequence)
{
	unsigned char packet[HEAD + 1 + STATEMENT_MOST];

	packet[0] = (unsigned char)count;
	packet[1] = (unsigned char)(count >> 8);
	packet[2] = (unsigned char)(count >> 16);
	packet[3] = sequence;
	memcpy(packet + HEAD, bytes, count);
	return wire_send(&link->wire, packet, HEAD + count);
}

/* A number that is one byte, or as many as its first byte says. */
static int take_number(struct packet *packet, uint64_t *number)
{
	size_t left = (size_t)(packet->end - packet->at), wide = 0;

	if (!left)
		return cut_short();
	switch (*packet->at) {
	case 0xfc:
		wide = 2;
		break;
	case 0xfd:
		wide = 3;
		break;
	case 0xfe:
		wide = 8;
		break;
	case 0xfb:
	case 0xff:
		return fail_check("the server sent a null, or no number, where a number was due");
	}
	if (left < 1 + wide)
		return cut_short();
	*number = wide ? 0 : *packet->at;
	for (size_t i = 0; i < wide; i++)
		*number |= (uint64_t)packet->at[1 + i] << (8 * i);
	packet->at += 1 + wide;
	return 0;
}

static int refuse(const struct packet *packet)
{
	const char *text = (const char *)packet->at + 3;
	int         count = (int)(packet->end - packet->at) - 3;

	if (count < 0)
		return cut_short();
	if (count > 6 && *text == '#') { /* and five characters of SQLSTATE */
		text += 6;
		count -= 6;
	}
	return fail_check("the server refused: %.*s (%d)",
	                  count > ERROR_SHOWN ? ERROR_SHOWN : count, text,
	                  packet->at[1] | packet->at[2] << 8);
}

static int take_ok(struct answer *answer, struct packet *packet)
{
	packet->at++;
	return take_number(packet, &answer->affected);
}

static int is_end(const struct packet *packet)
{
	return *packet->at == OF_END && packet->end - packet->at < 9;
}

static int take_row(struct answer *answer, struct packet *packet)
{
	for (unsigned i = 0; i < answer->columns; i++) {
		uint64_t count = 0;
		int      outcome = take_number(packet, &count);

		if (outcome)
			return outcome;
		if (count > (uint64_t)(packet->end - packet->at))
			return cut_short();
		if ((outcome = answer_put(answer, i, packet->at, (size_t)count)))
			return outcome;
		packet->at += count;
	}
	answer->rows++;
	return packet->at == packet->end
	               ? 0
	               : fail_check("the server sent a row that is longer than its cells");
}

/* Columns' descriptions, an end, rows, an end. */
static int take_rows(struct link *link, struct packet *packet)
{
	uint64_t columns;
	int      outcome = take_number(packet, &columns);

	if (outcome)
		return outcome;
	if (!columns || columns > COLUMNS_MOST)
		return fail_check("the server announced %llu columns", (unsigned long long)columns);
	link->answer.columns = (unsigned)columns;
	for (uint64_t i = 0; i <= columns; i++)
		if ((outcome = hear(link, packet)))
			return outcome;
	if (!is_end(packet))
		return fail_check("the server did not end the description of columns");
	for (;;) {
		if ((outcome = hear(link, packet)))
			return outcome;
		if (is_end(packet))
			return 0;
		outcome = *packet->at == OF_ERROR ? refuse(packet)
		                                  : take_row(&link->answer, packet);
		if (outcome)
			return outcome;
	}
}

static int mysql_ask(struct link *link)
{
	char          command[1 + STATEMENT_MOST];
	struct packet packet = { .sequence = 1 };
	int outcome, length = snprintf(command, sizeof(command), "\x03%s", link->statement);

	outcome = tell(link, command, (size_t)length, 0);
	if (outcome || (outcome = hear(link, &packet)))
		return outcome;
	switch (*packet.at) {
	case OF_OK:
		return take_ok(&link->answer, &packet);
	case OF_ERROR:
		return refuse(&packet);
	case OF_INFILE:
		return fail_check("the server asked for a file of this machine");
	default:
		return take_rows(link, &packet);
	}
}

/* Two pieces of a scramble in the server's greeting (HandshakeV10): behind a version that ends with
 * a zero, and 23 bytes later. What is missing is zero, and the server will not let us in. */
static void take_scramble(const struct packet *packet, uint8_t scramble[NATIVE_BYTES])
{
	enum { BEFORE = 4, FIRST = 8, BETWEEN = 19 };
	const unsigned char *at = memchr(packet->at, 0, (size_t)(packet->end - packet->at));
	size_t               left = at ? (size_t)(packet->end - at) - 1 : 0;

	memset(scramble, 0, NATIVE_BYTES);
	if (left < BEFORE + FIRST + BETWEEN + NATIVE_BYTES - FIRST)
		return;
	memcpy(scramble, at + 1 + BEFORE, FIRST);
	memcpy(scramble + FIRST, at + 1 + BEFORE + FIRST + BETWEEN, NATIVE_BYTES - FIRST);
}

/* The client's half of the greeting: who it is, its answer to the scramble, and no database. */
static int present(struct link *link, const uint8_t scramble[NATIVE_BYTES], unsigned char sequence)
{
	static const char user[] = "steelyard", method[] = "mysql_native_password";
	unsigned char     packet[32 + sizeof(user) + 1 + NATIVE_BYTES + sizeof(method)] = { 0 };
	unsigned char    *at = packet + 32;

	for (int i = 0; i < 4; i++)
		packet[i] = (unsigned char)(CAPABILITIES >> (8 * i));
	packet[7] = 1; /* packets of up to 16 MB */
	packet[8] = MYSQL_UTF8;
	memcpy(at, user, sizeof(user));
	at += sizeof(user);
	*at++ = NATIVE_BYTES;
	native_answer(server_secret(), scramble, at);
	memcpy(at + NATIVE_BYTES, method, sizeof(method));
	return tell(link, packet, sizeof(packet), sequence);
}

/* The server would have another method, or the same with another scramble. */
static int switch_method(struct link *link, struct packet *packet)
{
	static const char method[] = "\xfemysql_native_password";
	uint8_t           answer[NATIVE_BYTES];
	size_t            count = 0;

	if ((size_t)(packet->end - packet->at) >= sizeof(method) + NATIVE_BYTES &&
	    !memcmp(packet->at, method, sizeof(method))) {
		native_answer(server_secret(), packet->at + sizeof(method), answer);
		count = sizeof(answer);
	}
	return tell(link, answer, count, packet->sequence++);
}

static int log_in(struct link *link)
{
	uint8_t       scramble[NATIVE_BYTES];
	struct packet packet = { .sequence = 0 };
	int           outcome = hear(link, &packet);

	if (outcome)
		return outcome;
	if (*packet.at == OF_ERROR)
		return refuse(&packet);
	if (*packet.at != 10)
		return fail_check("the server greets by version %u of the protocol, and not by 10",
		                  *packet.at);
	take_scramble(&packet, scramble);
	if ((outcome = present(link, scramble, packet.sequence++)) ||
	    (outcome = hear(link, &packet)))
		return outcome;
	if (*packet.at == OF_END &&
	    ((outcome = switch_method(link, &packet)) || (outcome = hear(link, &packet))))
		return outcome;
	if (*packet.at == OF_ERROR)
		return refuse(&packet);
	return *packet.at == OF_OK
	               ? 0
	               : fail_check("the server answered the log-in by packet type %u", *packet.at);
}

static int command(struct link *link, const char *statement)
{
	snprintf(link->statement, sizeof(link->statement), "%s", statement);
	link->answer = (struct answer){ .rows = 0 };
	return mysql_ask(link);
}

static int mysql_open(struct link *link)
{
	int outcome = wire_open(&link->wire, server_port(), crowd_timeout_ms);

	if (!outcome)
		outcome = log_in(link);
	if (!outcome)
		outcome = command(link, "CREATE DATABASE IF NOT EXISTS steelyard");
	return outcome ? outcome : command(link, "USE steelyard");
}

static void mysql_close(struct link *link)
{
	if (link->wire.socket >= 0)
		tell(link, "\x01", 1, 0);
	wire_close(&link->wire);
}

const struct dialect dialect_mysql = {
	.name = "mysql",
	.open = mysql_open,
	.ask = mysql_ask,
	.close = mysql_close,
};
