/* printed.h -- what a command prints, kept in memory while it runs: whatever it prints, this
 * process reads it, so that a command which prints without end fills no disk. POSIX only.
 *
 * It goes through a pipe and not into a file: what a command writes is then no part of what is
 * measured of a file system. One that is started with printed_child() as its output finds the
 * signals as they are by default.
 */
#ifndef STEELYARD_WORKLOADS_PRINTED_H
#define STEELYARD_WORKLOADS_PRINTED_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { PRINTED_MOST = 8 << 20 }; /* bytes that are kept of a command; the rest is read and let go */

/* Once, before anything is started. Returns 0, or what fail() returned. */
int printed_begin(void);
/* A new pipe, and nothing in it yet: the end for the command's output, or -1 with errno. */
int printed_open(void);
/* In the child, before it executes the command. */
void printed_child(void);
/* In the parent: hears the command until it ends, and waits for it as wait4(2) does. What processes
 * print that it leaves behind is not waited for. */
pid_t printed_wait(pid_t child, int *status, struct rusage *usage);
/* How many bytes the last command printed. */
uint64_t printed_bytes(void);
/* Writes what the last one printed as records `printed`. */
void printed_tell(uint64_t copy, int file);

#endif
