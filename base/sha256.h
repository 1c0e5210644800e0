/* sha256.h -- digests of bytes and of files: every record can name the program that made it. */
#ifndef STEELYARD_SHA256_H
#define STEELYARD_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_HEX_ROOM = 65, SHA256_BLOCK = 64, SHA256_BYTES = 32 };

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t  block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *digest);
void sha256_take(struct sha256 *digest, const void *bytes, size_t count);
/* Writes the digest itself, or its 64 hexadecimal digits and a NUL. */
void sha256_end_bytes(struct sha256 *digest, uint8_t bytes[SHA256_BYTES]);
void sha256_end(struct sha256 *digest, char hex[SHA256_HEX_ROOM]);

/* Writes the digits of a file. Returns 0, or -1 with errno if it cannot be read. */
int sha256_file(const char *path, char hex[SHA256_HEX_ROOM]);

#endif
