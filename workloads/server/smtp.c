/* smtp.c -- see smtp.h. */
#include "smtp.h"

#include <stdio.h>
#include <string.h>

#include "../api/workload.h"

enum { LINES_MOST = 100, LINE_SHOWN = 200, COMMAND_MOST = 512 }; /* RFC 5321, 4.5.3.1.4 */

static int is_digit(char one)
{
	return one >= '0' && one <= '9';
}

/* Reads an answer of one or more lines, which must have that code. */
static int expect(struct wire *wire, const char *code, const char *asked)
{
	char *line;

	for (int i = 0; i < LINES_MOST; i++) {
		int outcome = wire_line(wire, &line);

		if (outcome)
			return outcome;
		if (!is_digit(line[0]) || !is_digit(line[1]) || !is_digit(line[2]) ||
		    (line[3] && line[3] != ' ' && line[3] != '-'))
			return fail_check("the mail server's answer to %s is not SMTP: '%.*s'",
			                  asked, LINE_SHOWN, line);
		if (strncmp(line, code, 3))
			return fail_check("the mail server answered %s with '%.*s'", asked,
			                  LINE_SHOWN, line);
		if (line[3] != '-')
			return 0;
	}
	return fail_check("the mail server's answer to %s has more than %d lines", asked,
	                  LINES_MOST);
}

static int ask(struct wire *wire, const char *command, const char *argument, const char *code)
{
	char line[COMMAND_MOST];
	int  length = snprintf(line, sizeof(line), "%s%s\r\n", command, argument), outcome;

	if (length >= (int)sizeof(line))
		return fail_check("an SMTP command is longer than %d bytes", COMMAND_MOST);
	outcome = wire_send(wire, line, (size_t)length);
	return outcome ? outcome : expect(wire, code, command);
}

int smtp_open(struct wire *wire, uint16_t port, uint64_t timeout_ms)
{
	int outcome = wire_open(wire, port, timeout_ms);

	if (!outcome)
		outcome = expect(wire, "220", "the connection");
	return outcome ? outcome : ask(wire, "EHLO", " localhost", "250");
}

int smtp_send(struct wire *wire, const struct message *message)
{
	int outcome = ask(wire, "MAIL FROM:", message->from, "250");

	if (!outcome)
		outcome = ask(wire, "RCPT TO:", message->to, "250");
	if (!outcome)
		outcome = ask(wire, "DATA", "", "354");
	if (!outcome)
		outcome = wire_send(wire, message->bytes, message->count);
	if (!outcome)
		outcome = wire_send(wire, ".\r\n", 3);
	return outcome ? outcome : expect(wire, "250", "the message");
}

int smtp_quit(struct wire *wire)
{
	int outcome = ask(wire, "QUIT", "", "221");

	wire_close(wire);
	return outcome;
}
