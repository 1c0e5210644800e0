/* system.h -- the one layer between this program and the operating system, in posix/ and in windows/.
 *
 * The harness reaches the system through this and through what the C library has everywhere (read and
 * write of a descriptor among it); so do the workloads that are written for both. A function that can
 * fail returns -1 or NULL and sets errno, which system_error() puts into words: on Windows it may be one
 * of the system's own numbers, which strerror() does not know.
 */
#ifndef STEELYARD_SYSTEM_H
#define STEELYARD_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- The program ---- */

/* Before anything else: streams without translation, no signal for a pipe that nobody reads, no window
 * for a process that crashes. */
void system_begin(const char *argv0);

/* What that errno means, in words. */
const char *system_error(int error);

/* The name of the clock that clock_ns() reads. */
extern const char clock_name[];

/* ---- Files ---- */

/* The directory for temporary files, where none was named. */
const char *directory_temporary(void);
/* Whether it is a directory in which files can be made. */
int directory_is_usable(const char *directory);
/* Makes it, for this user alone. */
int directory_make(const char *directory);
/* Makes a directory that nobody else has: the last six characters of `name` are replaced. */
int directory_make_fresh(char *name);

/* A pipe within this program: ends[0] is read, ends[1] written. pipe_make_private's are inherited by no
 * process but those that process_start gives them to. */
int pipe_make(int ends[2]);
int pipe_make_private(int ends[2]);

/* Writes all bytes, also where the descriptor does not block. Returns 0, or -1 with errno. */
int write_all(int file, const char *bytes, size_t count);

/* ---- Streams: waiting for several pipes at once ---- */

/* A descriptor that is read as things come. On Windows a pipe cannot be waited for, so a thread of its
 * own reads ahead: what a stream was made of must not be read in another way. */
struct stream;

/* Takes the descriptor over. Returns NULL with errno if there is no memory or no thread. */
struct stream *stream_open(int file);
/* Standard input; the same one each time. */
struct stream *stream_input(void);
/* Waits until there is something, or the end, and takes it. Returns the bytes, 0 at the end, or -1. */
ssize_t stream_take(struct stream *stream, void *into, size_t room);
/* Waits until a stream has something or has ended, or so many milliseconds have passed. NULLs among
 * them are passed over. Says of each in `ready` whether stream_take would return at once. */
int streams_wait(struct stream *const streams[], size_t count, int patience_ms, unsigned char ready[]);
/* Closes its descriptor. On Windows only after its end, because a thread may be reading it; NULL is let
 * alone. */
void stream_close(struct stream *stream);

/* ---- Processes ---- */

/* The descriptor `ours` becomes `theirs` in a new process. */
struct handed {
	int ours, theirs;
};

/* What to start. Zeros are the usual: where its maker runs, at its maker's priority. Besides what is named
 * here it has the null device as standard input and output, and our standard error. */
struct process_order {
	/* The program's path first; ends with NULL. */
	const char *const   *arguments;
	/* NAME=value; ends with NULL; or NULL. Added to the least there can be: PATH and LC_ALL on
	 * POSIX, the maker's own on Windows. */
	const char *const   *environment;
	const struct handed *files;
	size_t               file_count;
	/* Of shared_make(): inherited with equal values. */
	const intptr_t      *handles;
	size_t               handle_count;
	/* What it starts is one with it, for process_kill: a process group; a job object, which ends all
	 * of it when we end, too. */
	int                  is_group;
	/* Is killed when this process ends (Linux; on Windows is_group does it). */
	int                  dies_with_us;
	/* Its number and 1; 0: where its maker may run. */
	int                  processor;
	/* Added to ours, -20..19; a priority class on Windows. */
	int                  niceness;
	/* Windows, for partner_start: all that can be inherited, descriptors with equal numbers. */
	int                  inherits_all;
};

struct process {
	intptr_t id;    /* the process's number; on Windows its handle. 0: not started, or waited for */
	intptr_t job;   /* Windows: what is_group made */
	void    *waiter; /* Windows: process_wait_any's */
};

/* How a process ended. */
struct process_end {
	int  was_killed;
	int  status;     /* its exit status, if it was not killed */
	int  signal;     /* that killed it; 0 where systems know no signals */
	char reason[96]; /* what killed it, where that is no signal: an exception's name; or empty */
	uint64_t ended_ns; /* when we heard of it */
};

/* Starts a process. Returns 0, or -1 with errno: it could not be created. On POSIX a process that was
 * made but could not become the program exits with PROCESS_NOT_EXECUTED. */
enum { PROCESS_NOT_EXECUTED = 126 };
int process_start(const struct process_order *order, struct process *process);

/* Windows: the file of a program named as on a command line, to be freed; NULL: there is none. */
char *program_find(const char *name);

/* Waits for its end. Returns 0, or -1 with errno. */
int process_wait(struct process *process, struct process_end *end);

/* Waits until any of them ends, or so many milliseconds have passed (-1: without limit); those whose id
 * is 0 are passed over. Returns its index, -1 with errno, or -2: none ended, or none is left. On POSIX
 * the caller may have no other children meanwhile: it would swallow their ends. The array must stay
 * where it is from the first call to the last. */
ptrdiff_t process_wait_any(struct process processes[], size_t count, int patience_ms,
                           struct process_end *end);

/* Kills it, with its group if it has one, also when it has been waited for: what it left behind. */
void process_kill(struct process *process);

/* After the wait: gives back what is held of it, and kills what it left behind in its group. */
void process_forget(struct process *process);

/* Waits, without blocking, for whatever other children have ended. */
void processes_reap(void);

/* ---- Processors ---- */

/* The numbers of the processors that this process may use, in ascending order. Returns how many, up to
 * `most`, or -1 with errno. */
int processors_usable(int numbers[], int most);
/* Moves this process's first thread to processor `first`, with what it makes from then on; and lets its
 * threads move to `second` (-1: to none). On Windows new threads may begin on either of the two. */
int processor_take(int first, int second);
/* Moves the calling thread alone, to one of those two. */
int processor_take_thread(int number);

/* Makes the calling thread (on POSIX systems other than Linux: this process) so much nicer, 0..19. */
int thread_nicer(int niceness);

/* ---- What was used ---- */

enum resource {
	USER_NS, SYSTEM_NS, FAULTS_MINOR, FAULTS_MAJOR, SWITCHES_VOLUNTARY, SWITCHES_INVOLUNTARY,
	BLOCKS_READ, BLOCKS_WRITTEN, RESOURCES
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

size_t page_bytes(void);

/* Whole pages of zeros, not touched yet. Returns NULL with errno. */
void *memory_take(size_t bytes);
void memory_give(void *start, size_t bytes);
/* Asks for small pages there, where a system can be asked. */
void memory_small_pages(void *start, size_t bytes);

/* The C library's memory, at a multiple of `alignment`, and of a multiple of its bytes. */
void *aligned_take(size_t alignment, size_t bytes);
void aligned_give(void *start);

/* Pages that hold this code, to be read and executed: written first and made executable then, never both
 * at once. Returns NULL with errno where the system refuses executable pages. */
void *code_map(const void *code, size_t bytes);
void code_unmap(void *start, size_t bytes);

/* The bytes that the first thread's stack can still grow by; SIZE_MAX: without limit. */
size_t stack_left(void);

/* Where memory is what ends, the system shall choose this process and not its starter. */
void memory_offer(void);

/* Memory that this process shares with those it starts: they get the handle by process_order.handles,
 * its value as an argument, and open it. shared_make's is zero. Both return NULL with errno. */
void *shared_make(size_t bytes, intptr_t *handle);
void *shared_open(intptr_t handle, size_t bytes);
void shared_unmap(void *start, size_t bytes);
void shared_close(intptr_t handle);

#endif
