/* system.h -- the operating system, as far as a workload may ask it without naming one.
 *
 * For the workloads that are written for POSIX and for Windows. A function that can fail returns -1 or
 * NULL and sets errno, which system_error() puts into words: on Windows it may be one of the system's
 * own numbers, which strerror() does not know.
 */
#ifndef STEELYARD_API_SYSTEM_H
#define STEELYARD_API_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What that errno means, in words. */
const char *system_error(int error);

/* Nanoseconds since a moment that is fixed while the system is up. Ends the process if there is no such
 * clock: nothing can be measured then. */
uint64_t clock_ns(void);

/* ---- This program's own file ---- */

/* The path by which it can be started again. */
const char *self_path(void);

/* The emulator that runs this program where the kernel itself could not start it, so that it must be
 * asked to start it again (STEELYARD_EMULATOR names its file); NULL if there is none. */
const char *self_emulator(void);

/* Under an emulator, another program than ours would be this machine's own, and not emulated: returns
 * what unsupported() does there, and else 0. */
int refuse_emulator(void);

/* ---- Pipes ---- */

/* A pipe within this program: ends[0] is read, ends[1] written. pipe_make_private's are inherited by no
 * process but those that process_start gives them to. */
int pipe_make(int ends[2]);
int pipe_make_private(int ends[2]);

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

/* After the wait: gives back what is held of it, and kills what it left behind in its group. */
void process_forget(struct process *process);

/* ---- Processors ---- */

/* The numbers of the processors that this process may use, in ascending order. Returns how many, up to
 * `most`, or -1 with errno. */
int processors_usable(int numbers[], int most);

/* Moves the calling thread alone to that processor. */
int processor_take_thread(int number);

/* Makes the calling thread (on POSIX systems other than Linux: this process) so much nicer, 0..19. */
int thread_nicer(int niceness);

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

/* Where memory is what ends, the system shall choose this process and not its starter. */
void memory_offer(void);

/* Memory that this process shares with those it starts: they get the handle by process_order.handles,
 * its value as an argument, and open it. shared_make's is zero. Both return NULL with errno. */
void *shared_make(size_t bytes, intptr_t *handle);
void *shared_open(intptr_t handle, size_t bytes);
void shared_unmap(void *start, size_t bytes);
void shared_close(intptr_t handle);

#endif
