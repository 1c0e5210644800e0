/* files.h -- reading and writing all of something, and the limit of open files. */
#ifndef STEELYARD_FILES_H
#define STEELYARD_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Read or write all bytes, whatever interruptions and short counts there are; on POSIX write_whole
 * also waits where the descriptor does not block. Return 0, or -1 with errno (0 at the end of the
 * stream). */
int read_whole(int file, void *into, size_t bytes);
int write_whole(int file, const void *from, size_t bytes);

/* Raises this process's limit of open files, so that it can have that many and FILES_BESIDES, or as
 * near to that as it may. Returns how many it can have. POSIX only. */
enum { FILES_BESIDES = 64 };
uint64_t files_take(uint64_t count);

#endif
