/* registers.c -- see ptrace.h. */
#include <elf.h>
#include <linux/audit.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "ptrace.h"

enum { X32_BIT = 0x40000000 };

enum abi registers_abi(uint32_t architecture, uint64_t *number)
{
	if (sizeof(long) == 8 && !(architecture & __AUDIT_ARCH_64BIT))
		return ABI_32;
#ifdef __x86_64__
	if (*number != UINT64_MAX && *number & X32_BIT) {
		*number &= ~(uint64_t)X32_BIT;
		return ABI_X32;
	}
#else
	(void)number;
#endif
	return ABI_NATIVE;
}

int registers_read(pid_t thread, uint64_t *number, int64_t *result)
{
#if defined __x86_64__
	enum { EAX = 6, ORIG_EAX = 11 };
	union {
		struct user_regs_struct wide;
		int32_t                 narrow[17]; /* a 32-bit tracee's */
	} registers;
	struct iovec room = { &registers, sizeof registers };

	if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room))
		return -1;
	if (room.iov_len == sizeof registers.narrow) {
		*number = (uint64_t)(int64_t)registers.narrow[ORIG_EAX];
		*result = registers.narrow[EAX];
	} else {
		*number = registers.wide.orig_rax;
		*result = (int64_t)registers.wide.rax;
	}
	return *number == UINT64_MAX ? -1 : 0;
#elif defined __aarch64__
	struct user_regs_struct registers;
	int                     call = -1;
	struct iovec room = { &registers, sizeof registers }, call_room = { &call, sizeof call };

	if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room) ||
	    ptrace(PTRACE_GETREGSET, thread, NT_ARM_SYSTEM_CALL, &call_room) || call < 0)
		return -1;
	*number = (uint64_t)call;
	*result = (int64_t)registers.regs[0];
	return 0;
#else
	(void)thread, (void)number, (void)result;
	return -1;
#endif
}

uint32_t registers_architecture(pid_t thread)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 ? info.arch
	                                                                       : __AUDIT_ARCH_64BIT;
}
