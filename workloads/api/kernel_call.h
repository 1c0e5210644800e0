/* kernel_call.h -- system calls by the same instructions in every build.
 *
 * For workloads that measure the kernel's answer. Each C library wraps a system call in its own
 * way, and the difference is not small. After the kernel, the processor mispredicts every return
 * instruction, because the kernel's own calls have replaced what it remembered of this program's.
 * One such return was a third of the cheapest call, and the second one in musl's read made musl 8 %
 * slower (measurement.md has the experiment). Here there is one in every build: a function
 * that moves the arguments, enters the kernel, checks for failure, and returns, as those of glibc
 * do.
 *
 * Otherwise kernel_call() is syscall(2). Arguments are as wide as a register: pointers and longs.
 * It returns -1 with errno if the kernel refuses. It is no cancellation point. For other
 * processors, and for systems whose kernel is not called by number, the functions below are the C
 * library's.
 */
#ifndef STEELYARD_KERNEL_CALL_H
#define STEELYARD_KERNEL_CALL_H

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && defined(__LP64__) && \
	(defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))
#define KERNEL_CALLS 1
#else
#define KERNEL_CALLS 0
#endif

#if KERNEL_CALLS
long kernel_call(long number, ...);

static inline ssize_t kernel_read(int file, void *into, size_t bytes)
{
	return kernel_call(SYS_read, (long)file, into, bytes);
}

static inline ssize_t kernel_write(int file, const void *from, size_t bytes)
{
	return kernel_call(SYS_write, (long)file, from, bytes);
}

static inline int kernel_openat(int directory, const char *name, int flags, mode_t mode)
{
	return (int)kernel_call(SYS_openat, (long)directory, name, (long)flags, (long)mode);
}

static inline int kernel_close(int file)
{
	return (int)kernel_call(SYS_close, (long)file);
}

static inline int kernel_unlinkat(int directory, const char *name, int flags)
{
	return (int)kernel_call(SYS_unlinkat, (long)directory, name, (long)flags);
}

static inline off_t kernel_lseek(int file, off_t place, int whence)
{
	return kernel_call(SYS_lseek, (long)file, place, (long)whence);
}

static inline int kernel_fcntl(int file, int command, void *argument)
{
	return (int)kernel_call(SYS_fcntl, (long)file, (long)command, argument);
}

static inline void *kernel_mmap(void *start, size_t bytes, int protection, int flags, int file,
                                off_t from)
{
	return (void *)kernel_call(SYS_mmap, start, bytes, (long)protection, (long)flags,
	                           (long)file, from);
}

static inline int kernel_munmap(void *start, size_t bytes)
{
	return (int)kernel_call(SYS_munmap, start, bytes);
}

/* With a timeout of zero. */
static inline int kernel_poll(struct pollfd *asked, nfds_t count)
{
#ifdef SYS_poll
	return (int)kernel_call(SYS_poll, asked, count, 0L);
#else
	struct timespec at_once = { 0 }; /* as below: what is left of the time is written back */

	return (int)kernel_call(SYS_ppoll, asked, count, &at_once, NULL, 0L);
#endif
}

/* The same, to read. The kernel writes the time that is left, so it gets a copy. */
static inline int kernel_select(int beyond, fd_set *found)
{
	struct timespec at_once = { 0 };

	return (int)kernel_call(SYS_pselect6, (long)beyond, found, NULL, NULL, &at_once, NULL);
}

static inline int kernel_yield(void)
{
	return (int)kernel_call(SYS_sched_yield);
}

static inline int kernel_kill(pid_t process, int number)
{
	return (int)kernel_call(SYS_kill, (long)process, (long)number);
}
#else
#define kernel_call     syscall
#define kernel_read     read
#define kernel_write    write
#define kernel_openat   openat
#define kernel_close    close
#define kernel_unlinkat unlinkat
#define kernel_lseek    lseek
#define kernel_fcntl    fcntl
#define kernel_mmap     mmap
#define kernel_munmap   munmap
#define kernel_yield    sched_yield
#define kernel_kill     kill

static inline int kernel_poll(struct pollfd *asked, nfds_t count)
{
	return poll(asked, count, 0);
}

static inline int kernel_select(int beyond, fd_set *found)
{
	static const struct timespec at_once;

	return pselect(beyond, found, NULL, NULL, &at_once, NULL);
}
#endif

#endif
