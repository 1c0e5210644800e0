/* login.c -- see login.h. */
#include "login.h"

#include <stdio.h>
#include <string.h>

#include "../../base/numbers.h"
#include "../../base/sha256.h"
#include "../api/random.h"
#include "../api/workload.h"

enum { NONCE_BYTES = 12, ROUNDS_MOST = 1000000, SALT_MOST = 64, BASE64_ROOM = 48 };

/* ---- Base64 (RFC 4648) ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(const uint8_t bytes[SHA256_BYTES], char text[BASE64_ROOM])
{
	size_t at = 0;

	for (size_t i = 0; i < SHA256_BYTES; i += 3) {
		size_t   left = SHA256_BYTES - i;
		uint32_t three = (uint32_t)bytes[i] << 16 |
		                 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
		                 (left > 2 ? bytes[i + 2] : 0);

		text[at++] = digits[three >> 18];
		text[at++] = digits[three >> 12 & 63];
		text[at++] = left > 1 ? digits[three >> 6 & 63] : '=';
		text[at++] = left > 2 ? digits[three & 63] : '=';
	}
	text[at] = 0;
}

/* Returns how many bytes there are, or 0 where that is no base64 or too long. */
static size_t decode(const char *text, size_t length, uint8_t bytes[SALT_MOST])
{
	uint32_t held = 0;
	size_t   count = 0;
	int      bits = 0;

	while (length && text[length - 1] == '=')
		length--;
	for (size_t i = 0; i < length; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return 0;
		held = held << 6 | (uint32_t)(digit - digits);
		bits += 6;
		if (bits < 8)
			continue;
		if (count == SALT_MOST)
			return 0;
		bits -= 8;
		bytes[count++] = (uint8_t)(held >> bits);
	}
	return count;
}

/* ---- SCRAM-SHA-256 ---- */

/* HMAC (RFC 2104): the digests of both halves with the key in them, which many messages share. */
struct hmac {
	struct sha256 inner, outer;
};

static void hmac_begin(struct hmac *hmac, const void *key, size_t count)
{
	uint8_t block[SHA256_BLOCK] = { 0 }, padded[SHA256_BLOCK];

	if (count > SHA256_BLOCK) {
		struct sha256 digest;

		sha256_begin(&digest);
		sha256_take(&digest, key, count);
		sha256_end_bytes(&digest, block);
	} else
		memcpy(block, key, count);
	for (int i = 0; i < SHA256_BLOCK; i++)
		padded[i] = block[i] ^ 0x36;
	sha256_begin(&hmac->inner);
	sha256_take(&hmac->inner, padded, SHA256_BLOCK);
	for (int i = 0; i < SHA256_BLOCK; i++)
		padded[i] = block[i] ^ 0x5c;
	sha256_begin(&hmac->outer);
	sha256_take(&hmac->outer, padded, SHA256_BLOCK);
}

static void hmac_of(const struct hmac *key, const void *message, size_t count,
                    uint8_t into[SHA256_BYTES])
{
	struct hmac work = *key;

	sha256_take(&work.inner, message, count);
	sha256_end_bytes(&work.inner, into);
	sha256_take(&work.outer, into, SHA256_BYTES);
	sha256_end_bytes(&work.outer, into);
}

static void hmac_with(const void *key, size_t count, const char *message,
                      uint8_t into[SHA256_BYTES])
{
	struct hmac hmac;

	hmac_begin(&hmac, key, count);
	hmac_of(&hmac, message, strlen(message), into);
}

/* Hi() of RFC 5802. */
static void salted(const char *password, const uint8_t *salt, size_t count, uint64_t rounds,
                   uint8_t into[SHA256_BYTES])
{
	uint8_t     first[SALT_MOST + 4] = { 0 }, next[SHA256_BYTES];
	struct hmac hmac;

	memcpy(first, salt, count);
	first[count + 3] = 1;
	hmac_begin(&hmac, password, strlen(password));
	hmac_of(&hmac, first, count + 4, next);
	memcpy(into, next, SHA256_BYTES);
	while (--rounds) {
		hmac_of(&hmac, next, SHA256_BYTES, next);
		for (int i = 0; i < SHA256_BYTES; i++)
			into[i] ^= next[i];
	}
}

int scram_begin(struct scram *scram)
{
	char nonce[2 * NONCE_BYTES + 1];
	int  outcome = random_text(nonce, NONCE_BYTES);

	if (outcome)
		return outcome;
	snprintf(scram->first, sizeof(scram->first), "n=,r=%s", nonce);
	snprintf(scram->message, sizeof(scram->message), "n,,%s", scram->first);
	return 0;
}

static int not_understood(void)
{
	return fail_check("the server's answer to the log-in is not SCRAM-SHA-256's");
}

int scram_answer(struct scram *scram, const char *password, const char *said, size_t count)
{
	char first[SCRAM_MESSAGE_MOST], whole[3 * SCRAM_MESSAGE_MOST],
		last[SCRAM_MESSAGE_MOST - BASE64_ROOM - 8];
	char     proof_text[BASE64_ROOM], *rest = first, *nonce, *salt_text, *rounds_text;
	uint8_t  salt[SALT_MOST], key[SHA256_BYTES], client[SHA256_BYTES], stored[SHA256_BYTES];
	uint8_t  signature[SHA256_BYTES], server[SHA256_BYTES];
	uint64_t rounds;
	size_t   salt_count;
	struct sha256 digest;

	if (count >= sizeof(first) || memchr(said, 0, count))
		return not_understood();
	memcpy(first, said, count);
	first[count] = 0;
	/* The head of the whole is written before the words are cut apart. */
	snprintf(whole, sizeof(whole), "%s,%s", scram->first, first);
	nonce = strsep(&rest, ",");
	salt_text = strsep(&rest, ",");
	rounds_text = strsep(&rest, ",");
	if (!rounds_text || strncmp(nonce, "r=", 2) || strncmp(salt_text, "s=", 2) ||
	    strncmp(rounds_text, "i=", 2) || parse_number(rounds_text + 2, &rounds) || !rounds ||
	    rounds > ROUNDS_MOST ||
	    !(salt_count = decode(salt_text + 2, strlen(salt_text + 2), salt)) ||
	    strncmp(nonce + 2, scram->first + strlen("n=,r="), 2 * NONCE_BYTES))
		return not_understood();
	if (snprintf(last, sizeof(last), "c=biws,%s", nonce) >= (int)sizeof(last))
		return not_understood();
	snprintf(whole + strlen(whole), sizeof(whole) - strlen(whole), ",%s", last);

	salted(password, salt, salt_count, rounds, key);
	hmac_with(key, sizeof(key), "Client Key", client);
	sha256_begin(&digest);
	sha256_take(&digest, client, sizeof(client));
	sha256_end_bytes(&digest, stored);
	hmac_with(stored, sizeof(stored), whole, signature);
	for (int i = 0; i < SHA256_BYTES; i++)
		client[i] ^= signature[i];
	encode(client, proof_text);
	snprintf(scram->message, sizeof(scram->message), "%s,p=%s", last, proof_text);
	hmac_with(key, sizeof(key), "Server Key", server);
	hmac_with(server, sizeof(server), whole, signature);
	memcpy(scram->expected, "v=", 3);
	encode(signature, scram->expected + 2);
	return 0;
}

int scram_check(const struct scram *scram, const char *said, size_t count)
{
	if (count != strlen(scram->expected) || memcmp(said, scram->expected, count))
		return fail_check("the server does not know the password that the trial has set");
	return 0;
}

/* ---- mysql_native_password ---- */

static uint32_t left(uint32_t word, int places)
{
	return word << places | word >> (32 - places);
}

static void sha1_block(uint32_t state[5], const uint8_t block[64])
{
	uint32_t w[80], v[5];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 80; i++) {
		uint32_t mixed = i < 20   ? ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5a827999
		                 : i < 40 ? (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1
		                 : i < 60 ? ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) +
		                                    0x8f1bbcdc
		                          : (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6;
		uint32_t next = left(v[0], 5) + mixed + v[4] + w[i];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = left(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (int i = 0; i < 5; i++)
		state[i] += v[i];
}

/* SHA-1 (FIPS 180-4) of at most 55 bytes, which are one block. */
static void sha1(const void *bytes, size_t count, uint8_t digest[NATIVE_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	uint8_t  block[64] = { 0 };

	memcpy(block, bytes, count);
	block[count] = 0x80;
	block[62] = (uint8_t)(count * 8 >> 8);
	block[63] = (uint8_t)(count * 8);
	sha1_block(state, block);
	for (int i = 0; i < NATIVE_BYTES; i++)
		digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void native_answer(const char *password, const uint8_t scramble[NATIVE_BYTES],
                   uint8_t answer[NATIVE_BYTES])
{
	uint8_t once[NATIVE_BYTES], both[2 * NATIVE_BYTES];

	sha1(password, strlen(password), once);
	memcpy(both, scramble, NATIVE_BYTES);
	sha1(once, NATIVE_BYTES, both + NATIVE_BYTES);
	sha1(both, sizeof(both), answer);
	for (int i = 0; i < NATIVE_BYTES; i++)
		answer[i] ^= once[i];
}
