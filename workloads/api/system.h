/* system.h -- what a workload may ask of the operating system without naming one.
 *
 * For workloads that run on POSIX and on Windows. A function that can fail returns -1 or NULL and
 * sets errno. system_error() puts it into words: on Windows it may be one of the system's own
 * numbers, which strerror() does not know.
 */
#ifndef STEELYARD_API_SYSTEM_H
#define STEELYARD_API_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../base/clock.h"

/* What that errno means, in words. */
const char *system_error(int error);

/* ---- This program's own file ---- */

/* The path that starts it again. */
const char *self_path(void);

/* The emulator that runs this program (STEELYARD_EMULATOR names its file), where the kernel itself
 * could not start it: to start it again, start the emulator. NULL if there is none. */
const char *self_emulator(void);

/* Under an emulator, any other program would be this machine's own and would not be emulated.
 * Returns what unsupported() returns there, and 0 elsewhere. */
int refuse_emulator(void);

/* ---- Directories ---- */

/* Makes a directory of its own: the last six characters of `name` are replaced. */
int directory_make_fresh(char *name);
/* Asks the file system to lay what is made in this directory apart from each other, if it can be
 * asked: ext2 to ext4 then give each directory in it a block group of its own, so that a trial does
 * not meet what the one before has left there. */
void directory_spread(const char *directory);

/* ---- Pipes ---- */

/* A pipe: ends[0] is read, ends[1] is written. The ends of pipe_make_private are inherited only by
 * a process that gets them from process_start. */
int pipe_make(int ends[2]);
int pipe_make_private(int ends[2]);

/* ---- Processes ---- */

/* The descriptor `ours` becomes `theirs` in a new process. */
struct handed {
	int ours, theirs;
};

/* What to start. Zeros are the default: on this process's processors, with its priority. The new
 * process has the null device as standard input and output, and this process's standard error. */
struct process_order {
	/* The program's path first; ends with NULL. */
	const char *const *arguments;
	/* NAME=value; ends with NULL; or NULL. Added to PATH and LC_ALL on POSIX, and to this
	 * process's environment on Windows. */
	const char *const   *environment;
	const struct handed *files;
	size_t               file_count;
	/* From shared_make(): inherited with the same values. */
	const intptr_t *handles;
	size_t          handle_count;
	/* What it starts belongs to it, for process_kill: a process group; on Windows a job object,
	 * which also ends all of it when this process ends. */
	int is_group;
	/* It is killed when this process ends (Linux; on Windows is_group does this). */
	int dies_with_us;
	/* The processor's number plus 1; 0: where this process may run. */
	int processor;
	/* Added to this process's, -20..19; a priority class on Windows. */
	int niceness;
	/* POSIX: a process that was created and could not execute the program writes there which
	 * call failed, with the error, as a line that begins with `complaint`. Without one:
	 * nowhere. */
	const char *complaint;
	int         complains_to;
	/* Windows, for partner_start: everything that can be inherited, descriptors with equal
	 * numbers. */
	int inherits_all;
};

struct process {
	intptr_t id;     /* the process's number; on Windows its handle. 0: not started, or waited
	                    for */
	intptr_t job;    /* Windows: the job object, if is_group */
	void    *waiter; /* Windows: belongs to process_wait_any */
};

/* How a process ended. */
struct process_end {
	int  was_killed;
	int  status;       /* its exit status, if it was not killed */
	int  signal;       /* that killed it; 0 on systems without signals */
	char reason[96];   /* what killed it, if not a signal: the name of an exception; or empty */
	uint64_t ended_ns; /* when this process learned of it */
};

/* Starts a process. Returns 0, or -1 with errno if it could not be created. On POSIX, a process
 * that was created but could not execute the program exits with PROCESS_NOT_EXECUTED. */
enum { PROCESS_NOT_EXECUTED = 126 };
int process_start(const struct process_order *order, struct process *process);

/* Windows: the file of a program that is named as on a command line, to be freed; or NULL. */
char *program_find(const char *name);

/* Waits for its end. Returns 0, or -1 with errno. */
int process_wait(struct process *process, struct process_end *end);

/* Waits until one of them ends, or that many milliseconds have passed (-1: for ever); ignores those
 * whose id is 0. Returns its index, -1 with errno, or -2 if none ended or none is left. On POSIX
 * the caller may have no other children meanwhile, because their ends would be lost. The array must
 * stay where it is from the first call to the last. */
ptrdiff_t process_wait_any(struct process processes[], size_t count, int patience_ms,
                           struct process_end *end);

/* After the wait: releases everything of it, and kills what it left behind in its group. */
void process_forget(struct process *process);

/* ---- Processors ---- */

/* The numbers of the processors that this process may use, in ascending order. Returns how many, up
 * to `most`, or -1 with errno. */
int processors_usable(int numbers[], int most);

/* Moves the calling thread alone to that processor. */
int processor_take_thread(int number);

/* Adds to the nice value of the calling thread, or of the whole process on POSIX systems other than
 * Linux. */
int thread_nicer(int niceness);

/* ---- Memory ---- */

size_t page_bytes(void);

/* Whole pages of zeros, not touched yet; or NULL with errno. */
void *memory_take(size_t bytes);
void memory_give(void *start, size_t bytes);
/* Asks the system for small pages there, if it can be asked. */
void memory_small_pages(void *start, size_t bytes);

/* Memory of the C library that begins at a multiple of `alignment`; so must `bytes` be. */
void *aligned_take(size_t alignment, size_t bytes);
void aligned_give(void *start);

/* Asks the system to kill this process, and not the one that started it, when memory runs out. */
void memory_offer(void);

/* Memory that this process shares with those that it starts. They get the handle by
 * process_order.handles and its value as an argument, and open it. It begins as zeros. Both return
 * NULL with errno. */
void *shared_make(size_t bytes, intptr_t *handle);
void *shared_open(intptr_t handle, size_t bytes);
void shared_unmap(void *start, size_t bytes);
void shared_close(intptr_t handle);

#endif
