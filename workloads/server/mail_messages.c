/* mail_messages -- messages sent to a real mail server by many clients at once.
 *
 * Measures     a mail server under Postal's load. The trial starts the server that is named
 *              (Postfix, smtp-sink, or one of one's own). Each of `clients` clients connects, says
 *              EHLO, sends 1 to `messages` messages one after another (MAIL FROM, RCPT TO, DATA,
 *              the message), each when the last was accepted, says QUIT, and connects again. Bodies
 *              have 0 to `size` bytes, in lines of 0 to 76 printable characters; sender and
 *              recipient are two of `addresses`. All this is uniformly random, by the seed, as was
 *              observed of Postal. "time" is the time of all messages by their number. Latencies
 *              are of single messages: a connection's first has in it the making of the connection,
 *              its last the farewell. "server" is the processor time of all the server's processes
 *              a message, "client" that of this program.
 * Leaves out   the network between machines, encryption, and delivery: the servers described here
 *              throw accepted messages away, Postfix after it has had them in its queue on the
 *              disk.
 * Beware       Postfix answers more slowly (in_flow_delay) when messages come faster than its queue
 *              manager takes them on, and works on its queue behind a batch. Its processes that
 *              have ended count in "server". One answer other than those that a message's
 *              acceptance needs fails the trial.
 * After        Postal (Coker), with its defaults: messages of up to 10 KB, 1 client, 1 message a
 *              connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/workload.h"
#include "crowd.h"
#include "server.h"
#include "smtp.h"

enum {
	SIZE_MOST = 10 << 20,
	LINE_LONGEST = 76,
	SUBJECT_LEAST = 3,
	SUBJECT_SPREAD = 58,
	HEAD_MOST = 1024
};
enum { POOL = 65536 }; /* characters from which lines are taken; a power of two */

static uint64_t size = 10240, messages = 1, addresses = 1000;

static struct client {
	struct wire wire;
	uint64_t    random;
	uint64_t    left; /* messages before the farewell; 0: not connected */
	char       *message;
} *clients[CLIENTS_MOST];

/* Neither a dot nor a backslash, as with Postal: no line begins with a dot. */
static char pool[POOL + LINE_LONGEST];

static void fill_pool(void)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		" !\"#$%&'()*+,-/:;<=>?@[]^_`{|}~";
	uint64_t state = crowd_random_of(0, UINT64_MAX);

	for (size_t i = 0; i < sizeof(pool); i++)
		pool[i] = letters[random_next(&state) % (sizeof(letters) - 1)];
}

/* Puts a head and a random body behind `into`. Returns where it ends. */
static char *compose(char *into, const struct message *message, uint64_t number, uint64_t *random)
{
	uint64_t body = random_next(random) % (size + 1);

	into += snprintf(
		into, HEAD_MOST,
		"From: %s\r\nTo: %s\r\nSubject: %.*s\r\n"
		"Date: Mon, 23 Nov 2026 01:13:15 +0000\r\nMessage-Id: <%llu.%llu@example.com>\r\n"
		"X-Mailer: steelyard\r\n\r\n",
		message->from, message->to,
		(int)(SUBJECT_LEAST + random_next(random) % SUBJECT_SPREAD),
		pool + random_next(random) % POOL, (unsigned long long)crowd_seed,
		(unsigned long long)number);
	while (body > 1) {
		uint64_t drawn = random_next(random), length = drawn % (LINE_LONGEST + 1);

		if (length + 2 > body)
			length = body - 2;
		memcpy(into, pool + (drawn >> 32) % POOL, length);
		memcpy(into + length, "\r\n", 2);
		into += length + 2;
		body -= length + 2;
	}
	return into;
}

static void address(char into[64], uint64_t drawn)
{
	snprintf(into, 64, "<user%llu@example.com>", (unsigned long long)(drawn % addresses));
}

static int begin(unsigned number)
{
	struct client *client = clients[number] = calloc(1, sizeof(*client));

	if (!client)
		return fail("calloc");
	client->wire.socket = -1;
	client->random = crowd_random_of(number, 1);
	client->message = malloc(HEAD_MOST + size + 2);
	return client->message ? 0 : fail("malloc");
}

static int perform(unsigned which, uint64_t number)
{
	struct client *client = clients[which];
	uint64_t       random = crowd_random_of(number, 2);
	char           from[64], to[64];
	struct message message = { .from = from, .to = to, .bytes = client->message };
	int            outcome;

	if (!client->left) {
		if ((outcome = smtp_open(&client->wire, server_port(), crowd_timeout_ms)))
			return outcome;
		client->left = 1 + random_next(&client->random) % messages;
	}
	address(from, random_next(&random));
	address(to, random_next(&random));
	message.count = (size_t)(compose(client->message, &message, number, &random) -
	                         client->message);
	if ((outcome = smtp_send(&client->wire, &message)))
		return outcome;
	return --client->left ? 0 : smtp_quit(&client->wire);
}

static void end(unsigned number)
{
	struct client *client = clients[number];

	if (!client)
		return;
	wire_close(&client->wire);
	free(client->message);
	free(client);
}

static int setup(void)
{
	static const struct crowd crowd = { .begin = begin, .perform = perform, .end = end };
	int                       outcome;

	fill_pool();
	if ((outcome = server_prepare()) || (outcome = server_start()))
		return outcome;
	return crowd_start(&crowd);
}

static void teardown(void)
{
	crowd_end();
	server_end();
}

static const struct phase phases[] = { CROWD_PHASES, { 0 } };

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	CROWD_PARAMETERS,
	NUMBER("size", "bytes that a message's body has at most", &size, 0, SIZE_MOST),
	NUMBER("messages", "that a connection takes at most", &messages, 1, 1000000),
	NUMBER("addresses", "of senders and recipients", &addresses, 1, 1000000),
	{ 0 },
};

const struct workload workload_mail_messages = {
	.name = "mail_messages",
	.group = "server",
	.summary = "messages sent to a mail server by many clients at once",
	.operation = "message",
	.setup = setup,
	.before = crowd_before,
	.at_once = &crowd_clients,
	.phases = phases,
	.teardown = teardown,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
