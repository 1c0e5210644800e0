/* system.h -- the one layer between this program and the operating system, in posix/ and in
 * windows/.
 *
 * The harness reaches the system through this, through what workloads may ask too
 * (workloads/api/system.h), and through what the C library has everywhere (read and write of a
 * descriptor among it).
 */
#ifndef STEELYARD_SYSTEM_H
#define STEELYARD_SYSTEM_H

#include "../workloads/api/system.h"

/* ---- The program ---- */

/* Before anything else: streams without translation, no signal for a pipe without a reader, no
 * window for a process that crashes. */
void system_begin(const char *argv0);

/* ---- Files ---- */

/* The directory for temporary files, where none was named. */
const char *directory_temporary(void);
/* Whether it is a directory in which files can be made. */
int directory_is_usable(const char *directory);
/* Makes it, for this user alone. */
int directory_make(const char *directory);
/* Opens a new file to be written, in place of one of that name; a program may be executed by all.
 * Returns a descriptor, or -1 with errno. */
int file_make(const char *path, int is_program);

/* Keeps a descriptor that was handed to us from what we execute. On Windows it is nobody else's
 * anyway. */
void descriptor_keep(int file);

/* ---- Streams: waiting for several pipes at once ---- */

/* A descriptor that is read as things come. On Windows a pipe cannot be waited for, so a thread of
 * its own reads ahead: what a stream was made of must not be read in another way. */
struct stream;

/* Takes the descriptor over. Returns NULL with errno if there is no memory or no thread. */
struct stream *stream_open(int file);
/* Standard input; the same one each time. */
struct stream *stream_input(void);
/* Waits until there is something, or the end, and takes it. Returns the bytes, 0 at the end, or
 * -1. */
ssize_t stream_take(struct stream *stream, void *into, size_t room);
/* Waits until a stream has something or has ended, or that many milliseconds have passed. NULLs
 * among them are passed over. Says of each in `ready` whether stream_take would return at once. */
int streams_wait(struct stream *const streams[], size_t count, int patience_ms,
                 unsigned char ready[]);
/* Closes its descriptor. On Windows only when it has ended, because a thread may be reading it;
 * NULL is let alone. */
void stream_close(struct stream *stream);

/* ---- Turns ---- */

/* Lets the thread that runs go on to its end when this one wakes, or no longer. Where threads pass
 * a turn to each other on one processor, the one that has passed it falls asleep first, and does
 * not wake in the midst of another's work. Linux: SCHED_BATCH; nothing elsewhere, nor where a
 * process was given a policy of its own. */
void thread_gives_way(int gives_way);

/* ---- Processes ---- */

/* Kills it, with its group if it has one, also when it has been waited for: what it left behind. */
void process_kill(struct process *process);

/* Waits, without blocking, for whatever other children have ended. */
void processes_reap(void);

/* ---- Processors ---- */

/* Moves this process's first thread to processor `first`, with what it makes from then on; and lets
 * its threads move to `second` (-1: to none). On Windows new threads may begin on either of the
 * two. */
int processor_take(int first, int second);

/* ---- What was used ---- */

enum resource {
	USER_NS,
	SYSTEM_NS,
	FAULTS_MINOR,
	FAULTS_MAJOR,
	SWITCHES_VOLUNTARY,
	SWITCHES_INVOLUNTARY,
	BLOCKS_READ,
	BLOCKS_WRITTEN,
	RESOURCES
};

struct resources {
	uint64_t used[RESOURCES];
};

/* Whether this system counts it at all. Where it does not, resources_used leaves 0. */
int resource_is_known(enum resource resource);

/* What this process and the children it has waited for have used so far. */
void resources_used(struct resources *resources);
/* Of it, this process's own pages that had to be fetched. */
uint64_t resource_faults_major(void);

/* ---- Memory ---- */

/* Pages that hold this code, to be read and executed: written first and made executable then, never
 * both at once. Returns NULL with errno where the system refuses executable pages. */
void *code_map(const void *code, size_t bytes);
void code_unmap(void *start, size_t bytes);

/* The bytes that the first thread's stack can still grow by; SIZE_MAX: without limit. */
size_t stack_left(void);

#endif
