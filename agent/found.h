/* found.h -- what workloads/api/found.h has noted is written as records. */
#ifndef STEELYARD_FOUND_H
#define STEELYARD_FOUND_H

#include <stddef.h>
#include <stdint.h>

/* Writes a record "program" for each, to `file`. */
void programs_write(uint64_t copy, int file);

/* Part of the layer for the operating system: the real path of the file, or the same path. */
void program_real_path(const char *path, char *into, size_t room);
/* Likewise: the first line of what the program says when it is given --version alone; empty where
 * it says nothing within a second, or cannot be asked. Only a machine's own programs are asked,
 * which lie where packages put them: another one may do its work whatever it is told. */
void program_version(const char *path, char *into, size_t room);

#endif
