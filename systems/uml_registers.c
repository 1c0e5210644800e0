/* uml_registers.c -- lets older kernels of User-mode Linux run on processors with AMX.
 *
 * Before a process of the guest runs, User-mode Linux gives it its registers by ptrace. The host
 * wants all of them or none (EFAULT), and where the processor has tiles to multiply matrices with,
 * they are thousands of bytes more than a kernel knows that was built for 2,696. What it leaves out
 * is what no process of the guest can use. So this, preloaded into the kernel (LD_PRELOAD), gives
 * what the kernel gave, and behind it what the host has there already.
 *
 * It needs nothing but the C library that is there already; so it is not linked with any.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Not on the stack, because the kernel's are small. It has one processor, and is here once at a
 * time. */
static unsigned char registers[65536];

static long call(long request, pid_t pid, void *address, void *data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

static long set_registers(pid_t pid, void *kind, struct iovec *given)
{
	struct iovec all = { registers, sizeof(registers) };
	long         outcome = call(PTRACE_SETREGSET, pid, kind, given);

	if (!outcome || errno != EFAULT || call(PTRACE_GETREGSET, pid, kind, &all) ||
	    given->iov_len >= all.iov_len)
		return outcome;
	memcpy(registers, given->iov_base, given->iov_len);
	return call(PTRACE_SETREGSET, pid, kind, &all);
}

/* As the C library has it: what a request to peek finds is returned. */
long ptrace(enum __ptrace_request request, ...)
{
	va_list rest;
	pid_t   pid;
	void   *address, *data;
	long    peeked, outcome;

	va_start(rest, request);
	pid = va_arg(rest, pid_t);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	if (request == PTRACE_SETREGSET && (uintptr_t)address == NT_X86_XSTATE)
		return set_registers(pid, address, data);
	if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA && request != PTRACE_PEEKUSER)
		return call(request, pid, address, data);
	outcome = call(request, pid, address, &peeked);
	if (outcome < 0)
		return outcome;
	errno = 0;
	return peeked;
}
