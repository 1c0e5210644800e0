/* sha256.c -- see sha256.h. After FIPS 180-4, sections 4.1.2, 5 and 6.2. */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t word, int places)
{
	return word >> places | word << (32 - places);
}

static void take_block(struct sha256 *d)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)d->block[4 * i] << 24 | (uint32_t)d->block[4 * i + 1] << 16 |
		       (uint32_t)d->block[4 * i + 2] << 8 | d->block[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, d->state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constant[i] +
		              w[i];
		uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		d->state[i] += v[i];
}

void sha256_begin(struct sha256 *d)
{
	*d = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
		                         0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_take(struct sha256 *d, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	while (count--) {
		d->block[d->bytes++ % SHA256_BLOCK] = *byte++;
		if (d->bytes % SHA256_BLOCK == 0)
			take_block(d);
	}
}

void sha256_end_bytes(struct sha256 *d, uint8_t bytes[SHA256_BYTES])
{
	uint64_t bits = d->bytes * 8;
	uint8_t  length[8];

	sha256_take(d, &(uint8_t){ 0x80 }, 1);
	while (d->bytes % SHA256_BLOCK != SHA256_BLOCK - sizeof(length))
		sha256_take(d, &(uint8_t){ 0 }, 1);
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_take(d, length, sizeof(length));
	for (int i = 0; i < SHA256_BYTES; i++)
		bytes[i] = (uint8_t)(d->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_end(struct sha256 *d, char hex[SHA256_HEX_ROOM])
{
	uint8_t bytes[SHA256_BYTES];

	sha256_end_bytes(d, bytes);
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

int sha256_file(const char *path, char hex[SHA256_HEX_ROOM])
{
	struct sha256 d;
	uint8_t       bytes[65536];
	size_t        got;
	int           bad;
	FILE         *file = fopen(path, "rb");

	if (!file)
		return -1;
	sha256_begin(&d);
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		sha256_take(&d, bytes, got);
	bad = ferror(file);
	fclose(file);
	if (bad)
		return -1;
	sha256_end(&d, hex);
	return 0;
}
