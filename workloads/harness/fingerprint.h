/* fingerprint.h -- what this system is, as seen from inside it. */
#ifndef STEELYARD_FINGERPRINT_H
#define STEELYARD_FINGERPRINT_H

/* Writes the "system" record to standard output. `directory` is where trials work; `root` goes
 * before every path of /proc and /sys that is read (tests give a false one; "" for the real). */
void fingerprint_write(const char *directory, const char *root);

/* The compiler and the libc that this program was built with, as two constant strings. */
const char *build_compiler(void);
const char *build_libc(void);

#endif
