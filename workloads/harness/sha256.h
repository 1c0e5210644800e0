/* sha256.h -- the digest of a file, so that every record can name the program that made it. */
#ifndef STEELYARD_SHA256_H
#define STEELYARD_SHA256_H

enum { SHA256_HEX_ROOM = 65 };

/* Writes 64 hexadecimal digits and a NUL. Returns 0, or -1 with errno if the file cannot be read. */
int sha256_file(const char *path, char hex[SHA256_HEX_ROOM]);

#endif
