/* login.h -- how the clients of databases prove that they know a password, without sending it.
 *
 * SCRAM-SHA-256 (RFC 5802, RFC 7677) for PostgreSQL, where the server proves that it knows it too;
 * and MySQL's mysql_native_password. The account's name and its password are server.h's.
 */
#ifndef STEELYARD_SERVER_LOGIN_H
#define STEELYARD_SERVER_LOGIN_H

#include <stddef.h>
#include <stdint.h>

enum { SCRAM_MESSAGE_MOST = 512, NATIVE_BYTES = 20 };

struct scram {
	char first[64];                   /* ours, without its head */
	char expected[64];                /* the server's proof */
	char message[SCRAM_MESSAGE_MOST]; /* what to send next */
};

/* The client's first message. Returns an outcome. */
int scram_begin(struct scram *scram);
/* The client's last one, an answer to the server's first. Returns an outcome. */
int scram_answer(struct scram *scram, const char *password, const char *said, size_t count);
/* Whether the server's last message is its proof. Returns an outcome. */
int scram_check(const struct scram *scram, const char *said, size_t count);

/* What answers a scramble of 20 bytes. */
void native_answer(const char *password, const uint8_t scramble[NATIVE_BYTES],
                   uint8_t answer[NATIVE_BYTES]);

#endif
