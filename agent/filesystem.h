/* filesystem.h -- a fresh file system for one system's files. */
#ifndef STEELYARD_FILESYSTEM_H
#define STEELYARD_FILESYSTEM_H

#include <stdint.h>

/* argv: WORK NAME=VALUE ... -- COMMAND ARGUMENT ... Makes a file system, mounts it over WORK, with
 * what WORK held, and becomes the command. The mount is in a namespace that ends with the command
 * and all that came of it.
 *
 *   type=TYPE        for mount(8)
 *   options=TEXT     likewise
 *   size=BYTES       of an image, attached to a loop device; none for what needs no device
 *   images=DIR       where the image lies; it has no name there
 *   device=FILE      a block device in its place
 *   make=WORD        once for each word of the command that makes the file system on the device
 *                    named after it
 *   aged=N           how often it is churned
 *
 * Returns only if it cannot: 77, when it has said why. */
int filesystem(int argc, char *argv[]);

/* Fills `directory` with files of seven tenths of `bytes`; `rounds` times deletes half of them,
 * drawn by a fixed seed, and writes as much again; and deletes half at the end. Returns 0, or -1
 * with errno. */
int filesystem_age(const char *directory, uint64_t bytes, uint64_t rounds);

#endif
