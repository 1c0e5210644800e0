/* entry.c -- ways into the kernel and back, and what a libc leaves with the kernel (x86-64 only).
 *
 *	entry WAY OPERATIONS BATCHES PROCESSOR		prints each batch's ns, one a line
 *
 * inline    getppid, the instruction within the loop
 * jump      in a function that comes back by a jump, which nothing predicts from calls
 * one, two, three    in a function that returns; in one within one; and so on
 * libc      read(2) of one byte of /dev/zero as the libc makes it
 * read      the same by one function
 * signal    kill to oneself and a handler, the instruction within the loop
 * other     the same, with the area for restartable sequences (rseq) registered where the libc did
 * not, and given back where it did
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <sys/rseq.h>
#endif

enum { RSEQ_BYTES = 32, RSEQ_SIGNATURE = 0x53053053 };

__asm__(".text\n.balign 64\n"
        "entry_1: mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n syscall\n ret\n"
        ".balign 64\nentry_2: call entry_1\n ret\n"
        ".balign 64\nentry_3: call entry_2\n ret\n"
        ".balign 64\nentry_jump: mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n"
        " syscall\n pop %rcx\n jmp *%rcx\n");
long entry_1(long number, long first, void *second, long third);
long entry_2(long number, long first, void *second, long third);
long entry_3(long number, long first, void *second, long third);
long entry_jump(long number, long first, void *second, long third);

static inline long entry_inline(long number, long first, long second)
{
	long answer;

	__asm__ volatile("syscall"
	                 : "=a"(answer)
	                 : "a"(number), "D"(first), "S"(second)
	                 : "rcx", "r11", "memory");
	return answer;
}

static volatile unsigned long caught;

static void handle(int number)
{
	(void)number;
	caught++;
}

static void exchange_registration(void)
{
#ifdef __GLIBC__
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	long  flags = RSEQ_FLAG_UNREGISTER;
#else
	static char area[RSEQ_BYTES] __attribute__((aligned(RSEQ_BYTES)));
	long        flags = 0;
#endif
	if (syscall(SYS_rseq, area, (long)RSEQ_BYTES, flags, (long)RSEQ_SIGNATURE)) {
		perror("rseq");
		exit(77);
	}
}

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

#define EACH(statement)                            \
	for (long i = 0; i < operations; i += 8) { \
		statement;                         \
		statement;                         \
		statement;                         \
		statement;                         \
		statement;                         \
		statement;                         \
		statement;                         \
		statement;                         \
	}

static void batch(const char *way, long operations, int zero)
{
	static char byte;
	long        self = getpid();

	if (!strcmp(way, "inline"))
		EACH(entry_inline(SYS_getppid, 0, 0))
	else if (!strcmp(way, "jump"))
		EACH(entry_jump(SYS_getppid, 0, NULL, 0))
	else if (!strcmp(way, "one"))
		EACH(entry_1(SYS_getppid, 0, NULL, 0))
	else if (!strcmp(way, "two"))
		EACH(entry_2(SYS_getppid, 0, NULL, 0))
	else if (!strcmp(way, "three"))
		EACH(entry_3(SYS_getppid, 0, NULL, 0))
	else if (!strcmp(way, "read"))
		EACH(entry_1(SYS_read, zero, &byte, 1))
	else if (!strcmp(way, "libc"))
		EACH(if (read(zero, &byte, 1) != 1) abort())
	else
		EACH(entry_inline(SYS_kill, self, SIGUSR1))
}

int main(int argc, char *argv[])
{
	struct sigaction action = { .sa_handler = handle };
	long             operations, batches;
	int              zero = open("/dev/zero", O_RDONLY);
	cpu_set_t        one;

	if (argc != 5)
		return 2;
	operations = atol(argv[2]);
	batches = atol(argv[3]);
	CPU_ZERO(&one);
	CPU_SET((unsigned)atoi(argv[4]), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sigaction(SIGUSR1, &action, NULL) ||
	    zero < 0)
		return 1;
	if (!strcmp(argv[1], "other"))
		exchange_registration();
	while (batches--) {
		long begun = now_ns();

		batch(argv[1], operations, zero);
		printf("%ld\n", now_ns() - begun);
	}
	return 0;
}
