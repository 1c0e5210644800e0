/* kernel_call.c -- see workloads/api/kernel_call.h.
 *
 * Written in assembly, so that neither compiler nor level changes an instruction, and at the
 * beginning of a cache line. What failed goes on to kernel_call_failed, with the kernel's answer as
 * its argument.
 */
#include "../../workloads/api/kernel_call.h"

#if KERNEL_CALLS
#include <errno.h>

long kernel_call_failed(long answer);
__attribute__((used)) long kernel_call_failed(long answer)
{
	errno = (int)-answer;
	return -1;
}

#define FUNCTION(instructions)                                                           \
	__asm__(".pushsection .text.kernel_call, \"ax\", %progbits\n\t.balign 64\n\t"    \
	        ".globl kernel_call\n\t.type kernel_call, %function\n"                   \
	        "kernel_call:\n" instructions "\t.size kernel_call, . - kernel_call\n\t" \
	        ".popsection")

#if defined(__x86_64__)
FUNCTION("	movq	%rdi, %rax\n"
         "	movq	%rsi, %rdi\n"
         "	movq	%rdx, %rsi\n"
         "	movq	%rcx, %rdx\n"
         "	movq	%r8, %r10\n"
         "	movq	%r9, %r8\n"
         "	movq	8(%rsp), %r9\n"
         "	syscall\n"
         "	cmpq	$-4095, %rax\n"
         "	jae	1f\n"
         "	ret\n"
         "1:	movq	%rax, %rdi\n"
         "	jmp	kernel_call_failed\n");
#elif defined(__aarch64__)
FUNCTION("	mov	x8, x0\n"
         "	mov	x0, x1\n"
         "	mov	x1, x2\n"
         "	mov	x2, x3\n"
         "	mov	x3, x4\n"
         "	mov	x4, x5\n"
         "	mov	x5, x6\n"
         "	svc	#0\n"
         "	cmn	x0, #4095\n"
         "	b.hs	1f\n"
         "	ret\n"
         "1:	b	kernel_call_failed\n");
#else
FUNCTION("	mv	t0, a0\n"
         "	mv	a0, a1\n"
         "	mv	a1, a2\n"
         "	mv	a2, a3\n"
         "	mv	a3, a4\n"
         "	mv	a4, a5\n"
         "	mv	a5, a6\n"
         "	mv	a7, t0\n"
         "	ecall\n"
         "	li	t0, -4096\n"
         "	bgtu	a0, t0, 1f\n"
         "	ret\n"
         "1:	tail	kernel_call_failed\n");
#endif
#endif
