/* known VERB [ARGUMENT] -- makes exactly the system calls that its text says, and not one besides.
 *
 * There is no libc in it and no start-up code: every call of the process, from its first
 * instruction to its last, stands below, so that a monitor's counts are compared with a text and
 * not with another tool. What each verb makes is written down once more, process by process, in
 * test_watch_counts.py.
 *
 * Built with	-nostdlib -static -ffreestanding -fno-stack-protector -fno-pie -no-pie; x86-64
 * alone. Beware	Nothing here may wait by calls whose number is not fixed: threads are
 * awaited by looking at a word that the kernel clears, signals are let in by calls that unblock
 * them for their own time.
 */
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Of the C library's headers, which a program without one should not mix with the kernel's. */
enum { HUP = 1, KILL = 9, USR1 = 10, ALRM = 14, TERM = 15, CHLD = 17, CONT = 18, STOP = 19 };
enum { BLOCK = 0, UNTRACED = 2, CWD = -100 };
enum { NAME = 15, FILTER = 22, SUBREAPER = 36, NO_NEW_PRIVILEGES = 38 };
#define RESTART     0x10000000ul
#define RESTORER    0x04000000ul
#define BIT(signal) (1ul << ((signal) - 1))

struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static char  *self;
static char **environment;
static int    pipe_ends[2];
static char   stacks[4][65536] __attribute__((aligned(64)));
static int    running[4];
static struct {
	long come, opens;
} meeting;

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long          answer;

	__asm__ volatile("syscall"
	                 : "=a"(answer)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return answer;
}

#define CALL4(number, a, b, c, d) call6((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL3(number, a, b, c)    CALL4(number, a, b, c, 0)
#define CALL2(number, a, b)       CALL4(number, a, b, 0, 0)
#define CALL1(number, a)          CALL4(number, a, 0, 0, 0)
#define CALL0(number)             CALL4(number, 0, 0, 0, 0)

static void times(long count, long number, long argument)
{
	while (count--)
		CALL1(number, argument);
}

static _Noreturn void leave(long status)
{
	for (;;)
		CALL1(__NR_exit_group, status);
}

/* A thread's start: its function in %r12 and the argument in %r13, on a stack of its own.
 * In assembly, for the parent's frame is not there. */
long thread_begin(unsigned long flags, void *stack, int *clears, void (*function)(long),
                  long argument);
__asm__(".text\n"
        ".globl thread_begin\n"
        "thread_begin:\n"
        "	push %r12\n"
        "	push %r13\n"
        "	mov %rcx, %r12\n"
        "	mov %r8, %r13\n"
        "	mov %rdx, %r10\n" /* clone's fourth: the word to be cleared */
        "	xor %r8d, %r8d\n"
        "	xor %edx, %edx\n"
        "	mov $56, %eax\n"
        "	syscall\n"
        "	test %rax, %rax\n"
        "	jz 1f\n"
        "	pop %r13\n"
        "	pop %r12\n"
        "	ret\n"
        "1:	xor %ebp, %ebp\n"
        "	mov %r13, %rdi\n"
        "	call *%r12\n"
        "	hlt\n");

void handler_returns(void);
__asm__(".text\n"
        ".globl handler_returns\n"
        "handler_returns:\n"
        "	mov $15, %eax\n"
        "	syscall\n");

#define THREAD                                                                              \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_CHILD_CLEARTID)

/* One clone. */
static void thread(int place, void (*function)(long), long argument)
{
	__atomic_store_n(&running[place], 1, __ATOMIC_SEQ_CST);
	if (thread_begin(THREAD, stacks[place] + sizeof(stacks[place]) - 64, &running[place],
	                 function, argument) < 0)
		leave(90);
}

/* No call. */
static void await(int place)
{
	while (__atomic_load_n(&running[place], __ATOMIC_SEQ_CST))
		__asm__ volatile("pause");
}

/* One wait4. */
static long wait_for(long pid)
{
	int status = 0;

	return CALL4(__NR_wait4, pid, &status, 0, 0) < 0 ? -1 : status;
}

static void exec_self(const char *verb)
{
	const char *words[] = { self, verb, NULL };

	CALL3(__NR_execve, self, words, environment);
}

static void number_of(const char *text, long *number)
{
	for (*number = 0; text && *text; text++)
		*number = *number * 10 + (*text - '0');
}

/* What an exec of us does in many verbs: 20 getppid. */
static void leaf(void)
{
	times(20, __NR_getppid, 0);
}

/* 1000 getppid, 500 close that fail, 10 access that fail. */
static void plain(void)
{
	times(1000, __NR_getppid, 0);
	times(500, __NR_close, -1);
	for (int i = 0; i < 10; i++)
		CALL2(__NR_access, "/nonexistent/of/known", 0);
}

/* Calls that fail among those that do not: 7 openat that fail and 2 that do not, 5 read and 3 write
 * that fail, 11 dup that fail and 1 that does not, 2 close; and 13 mmap, whose addresses are no
 * errors though they are negative numbers to some. lseek of /dev/zero to -4096 would be: it is not
 * among them. */
static void failing(void)
{
	long file;
	char byte = 0;

	for (int i = 0; i < 7; i++)
		CALL4(__NR_openat, CWD, "/nonexistent/of/known", 0, 0);
	times(5, __NR_read, -1);
	times(3, __NR_write, -1);
	times(11, __NR_dup, -1);
	file = CALL4(__NR_openat, CWD, "/dev/zero", 0, 0);
	CALL3(__NR_read, file, &byte, 1);
	times(1, __NR_dup, file);
	CALL1(__NR_close, file);
	file = CALL4(__NR_openat, CWD, "/dev/null", 1, 0);
	CALL3(__NR_write, file, &byte, 1);
	CALL1(__NR_close, file);
	for (int i = 0; i < 13; i++)
		call6(__NR_mmap, 0, 4096, 3, 0x22, -1, 0);
}

/* 2 calls whose numbers nobody has, one of them beyond any table; 3 more of another. */
static void unknown(void)
{
	times(2, 500, 0);
	times(3, 999, 0);
	times(1, 100000, 0);
}

/* 5 children by 2 fork, 2 clone, 1 clone3, each of them 11 getpid and a status of its own; 5 wait4.
 * */
static void forks(void)
{
	struct clone_args how;
	long              made = 0;

	for (int i = 0; i < 5; i++) {
		for (size_t byte = 0; byte < sizeof(how); byte++)
			((volatile char *)&how)[byte] = 0;
		how.exit_signal = CHLD;
		if (i < 2)
			made = CALL0(__NR_fork);
		else if (i < 4)
			made = CALL1(__NR_clone, CHLD);
		else
			made = CALL2(__NR_clone3, &how, sizeof(how));
		if (made == 0) {
			times(11, __NR_getpid, 0);
			leave(i);
		}
		if (wait_for(made) != i << 8)
			leave(91);
	}
}

/* 3 vfork, 3 wait4; one child leaves after 3 getuid, one execs `leaf`, one fails to exec and
 * leaves. */
static void vforks(void)
{
	long made;

	for (int i = 0; i < 3; i++) {
		made = CALL0(__NR_vfork);
		if (made == 0) {
			if (i == 0)
				times(3, __NR_getuid, 0);
			else if (i == 1)
				exec_self("leaf");
			else
				CALL3(__NR_execve, "/nonexistent/of/known", NULL, NULL);
			leave(i);
		}
		wait_for(made);
	}
}

static void thread_works(long argument)
{
	times(2500, __NR_gettid, 0);
	times(100, __NR_close, -1);
	CALL1(__NR_exit, argument);
}

/* 4 clone; each thread 2500 gettid, 100 close that fail, 1 exit; the first thread 50 getppid
 * meanwhile. */
static void threads(void)
{
	for (int i = 0; i < 4; i++)
		thread(i, thread_works, 0);
	times(50, __NR_getppid, 0);
	for (int i = 0; i < 4; i++)
		await(i);
}

/* 1 execve that fails, 1 that does not; then `leaf`. */
static void exec(void)
{
	CALL3(__NR_execve, "/nonexistent/of/known", NULL, NULL);
	times(3, __NR_getuid, 0);
	exec_self("leaf");
	leave(92);
}

/* 1 rt_sigprocmask, 2 fork, 1 kill, 2 wait4. The first child kills itself: 5 getppid, 1 getpid, 1
 * kill. The second waits for the signal that its parent sends, by a call that lets it in and so
 * never misses it. */
static void killed(void)
{
	unsigned long blocked = BIT(TERM), none = 0;
	long          made;

	CALL4(__NR_rt_sigprocmask, BLOCK, &blocked, 0, 8);
	made = CALL0(__NR_fork);
	if (made == 0) {
		times(5, __NR_getppid, 0);
		CALL2(__NR_kill, CALL0(__NR_getpid), KILL);
		leave(93);
	}
	wait_for(made);
	made = CALL0(__NR_fork);
	if (made == 0) {
		CALL2(__NR_rt_sigsuspend, &none, 8);
		leave(94);
	}
	CALL2(__NR_kill, made, TERM);
	wait_for(made);
}

static void nothing(int signal)
{
	(void)signal;
}

static void feed(int signal)
{
	char byte = (char)signal;

	CALL3(__NR_write, pipe_ends[1], &byte, 1);
}

/* One rt_sigaction. */
static void handle(int signal, void (*handler)(int), unsigned long flags)
{
	struct action action = { handler, flags | RESTORER, handler_returns, 0 };

	CALL4(__NR_rt_sigaction, signal, &action, 0, 8);
}

/* 1 getpid; 2 rt_sigaction, 2 rt_sigprocmask. 5 kill whose signals are delivered at once; 10 more
 * that are kept back until ppoll lets them in, which then fails (EINTR) 10 times. 1 pipe, 1
 * setitimer, 2 read: the first is broken off by the timer, whose handler writes once, and
 * restarted. 16 rt_sigreturn: it has no result, and what is seen in its place is that of the call
 * gone back to, which was an error 10 times. */
static void signals(void)
{
	unsigned long blocked = BIT(USR1), none = 0;
	long          own = CALL0(__NR_getpid), soon[4] = { 0, 0, 0, 150000 };
	char          byte;

	handle(USR1, nothing, 0);
	for (int i = 0; i < 5; i++)
		CALL2(__NR_kill, own, USR1);
	CALL4(__NR_rt_sigprocmask, BLOCK, &blocked, 0, 8);
	for (int i = 0; i < 10; i++) {
		CALL2(__NR_kill, own, USR1);
		call6(__NR_ppoll, 0, 0, 0, (long)&none, 8, 0);
	}
	CALL4(__NR_rt_sigprocmask, 1, &blocked, 0, 8);
	handle(ALRM, feed, RESTART);
	CALL1(__NR_pipe, pipe_ends);
	CALL3(__NR_setitimer, 0, soon, 0);
	CALL3(__NR_read, pipe_ends[0], &byte, 1);
}

/* 1 fork, 1 nanosleep, 2 kill, 2 wait4. The child sleeps once, is stopped in it and goes on: 1
 * nanosleep that is broken off, 1 restart_syscall. */
static void stopped(void)
{
	long long_sleep[2] = { 0, 400000000 }, short_sleep[2] = { 0, 150000000 };
	long made = CALL0(__NR_fork);
	int  status;

	if (made == 0) {
		CALL2(__NR_nanosleep, long_sleep, 0);
		leave(0);
	}
	CALL2(__NR_nanosleep, short_sleep, 0);
	CALL2(__NR_kill, made, STOP);
	CALL4(__NR_wait4, made, &status, UNTRACED, 0);
	CALL2(__NR_kill, made, CONT);
	wait_for(made);
}

/* 2 prctl; 50 getppid, all refused; 5 getuid. */
static void refused(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	call6(__NR_prctl, NO_NEW_PRIVILEGES, 1, 0, 0, 0, 0);
	CALL3(__NR_prctl, FILTER, SECCOMP_MODE_FILTER, &program);
	times(50, __NR_getppid, 0);
	times(5, __NR_getuid, 0);
}

static void thread_execs(long argument)
{
	(void)argument;
	times(5, __NR_gettid, 0);
	exec_self("leaf");
	leave(95);
}

/* 1 clone; the thread 5 gettid and 1 execve, by which it becomes the process: `leaf`. */
static void thread_exec(void)
{
	times(7, __NR_getuid, 0);
	thread(0, thread_execs, 0);
	for (;;)
		__asm__ volatile("pause");
}

static void thread_goes_on(long argument)
{
	await(1);
	times(10, __NR_gettid, 0);
	leave(argument);
}

/* 1 set_tid_address, 1 clone, 1 exit: the first thread is the first to end, which the other sees by
 * a word that the kernel clears, and the process lives on in that: 10 gettid. */
static void leader_first(void)
{
	running[1] = 1;
	CALL1(__NR_set_tid_address, &running[1]);
	thread(0, thread_goes_on, 4);
	CALL1(__NR_exit, 0);
}

static void thread_stays(long argument)
{
	times(5, __NR_gettid, 0);
	__atomic_store_n(&running[argument], 2, __ATOMIC_SEQ_CST);
	for (;;)
		__asm__ volatile("pause");
}

/* 3 clone; the threads 5 gettid each, and are cut off while they compute: they call no exit. */
static void cut_off(void)
{
	for (int i = 0; i < 3; i++)
		thread(i, thread_stays, i);
	for (int i = 0; i < 3; i++)
		while (__atomic_load_n(&running[i], __ATOMIC_SEQ_CST) != 2)
			__asm__ volatile("pause");
}

static void thread_forks(long argument)
{
	long made = CALL0(__NR_fork);

	if (made == 0) {
		times(8, __NR_getuid, 0);
		leave(argument);
	}
	wait_for(made);
	CALL1(__NR_exit, 0);
}

/* 1 clone; the thread 1 fork, 1 wait4, 1 exit; the child is the process's: 8 getuid. */
static void forks_of_a_thread(void)
{
	thread(0, thread_forks, 2);
	await(0);
}

/* 2 fork, 2 wait4. One child writes where nothing is after 6 getuid (SIGSEGV), the other makes a
 * call for which it is killed (SIGSYS): 2 prctl, 1 getppid. */
static void crashes(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	long              made = CALL0(__NR_fork);

	if (made == 0) {
		times(6, __NR_getuid, 0);
		__asm__ volatile("movl $1, 8" ::: "memory");
		leave(96);
	}
	wait_for(made);
	made = CALL0(__NR_fork);
	if (made == 0) {
		call6(__NR_prctl, NO_NEW_PRIVILEGES, 1, 0, 0, 0, 0);
		CALL3(__NR_prctl, FILTER, SECCOMP_MODE_FILTER, &program);
		CALL0(__NR_getppid);
		leave(97);
	}
	wait_for(made);
}

/* 1 prctl, 1 fork, 2 wait4; the child 1 fork and leaves at once; the grandchild 1 nanosleep and 30
 * getuid, as an orphan. The child's own child is waited for by us. */
static void orphan(void)
{
	long sleep[2] = { 0, 50000000 };

	call6(__NR_prctl, SUBREAPER, 1, 0, 0, 0, 0);
	if (CALL0(__NR_fork) == 0) {
		if (CALL0(__NR_fork) == 0) {
			CALL2(__NR_nanosleep, sleep, 0);
			times(30, __NR_getuid, 0);
			leave(6);
		}
		leave(5);
	}
	wait_for(-1);
	wait_for(-1);
}

/* 1 exit, as a lone thread may: the process ends by it. */
static void exit_alone(void)
{
	CALL1(__NR_exit, 7);
}

/* 2 fork, 2 clone3, 4 wait4: three children one after the other, the last two of which get the pid
 * that the first had. 10, 20 and 40 getppid. Ends with 77 where the right to choose a pid is
 * missing, or it was taken. */
static void reuse(void)
{
	struct clone_args how;
	int               pid;

	pid = (int)CALL0(__NR_fork);
	if (pid == 0) {
		times(10, __NR_getppid, 0);
		leave(0);
	}
	wait_for(pid);
	for (int i = 0; i < 2; i++) {
		long made;

		for (size_t byte = 0; byte < sizeof(how); byte++)
			((volatile char *)&how)[byte] = 0;
		how.exit_signal = CHLD;
		how.set_tid = (uint64_t)(uintptr_t)&pid;
		how.set_tid_size = 1;
		made = CALL2(__NR_clone3, &how, sizeof(how));
		if (made < 0)
			leave(77);
		if (made == 0) {
			times(20 << i, __NR_getppid, 0);
			leave(i + 1);
		}
		wait_for(made);
	}
}

/* That many children one after the other, by fork: each 3 getppid. As many wait4. */
static void many(long count)
{
	while (count--) {
		long made = CALL0(__NR_fork);

		if (made == 0) {
			times(3, __NR_getppid, 0);
			leave(0);
		}
		wait_for(made);
	}
}

/* That many children by fork that live at one time: each 1 close, 1 read that ends when all are
 * there, 100 getppid. 1 pipe, 1 close more. As many wait4. */
static void at_once(long count)
{
	char byte;

	CALL1(__NR_pipe, pipe_ends);
	for (long i = 0; i < count; i++)
		if (CALL0(__NR_fork) == 0) {
			CALL1(__NR_close, pipe_ends[1]);
			CALL3(__NR_read, pipe_ends[0], &byte, 1);
			times(100, __NR_getppid, 0);
			leave(0);
		}
	CALL1(__NR_close, pipe_ends[1]);
	while (count--)
		wait_for(-1);
}

/* 1 read that ends when nobody can write any more, 5 gettid, 1 exit. */
static void sleep_and_go(long place)
{
	char byte;

	(void)place;
	CALL3(__NR_read, pipe_ends[0], &byte, 1);
	times(5, __NR_gettid, 0);
	for (;;)
		CALL1(__NR_exit, 0);
}

/* That many times a storm, and quiet for forty pauses; meanwhile somebody sleeps. 1 pipe, 1 close,
 * and by fork:
 * - one that leaves with 3: 1 close, 1 clone, 1 read until the end of all storms, 9 getgid, and its
 * thread;
 * - each time, one that leaves with 1: 1,200,000 getppid;
 * - each time, forty one after the other that leave with 2: 7 getuid; 1 nanosleep after each.
 * As many wait4. */
static void tides(long count, long pause_ms)
{
	const long pause[2] = { 0, pause_ms * 1000000 };
	char       byte;
	long       made, sleeper;

	CALL1(__NR_pipe, pipe_ends);
	sleeper = CALL0(__NR_fork);
	if (sleeper == 0) {
		CALL1(__NR_close, pipe_ends[1]);
		thread(0, sleep_and_go, 0);
		CALL3(__NR_read, pipe_ends[0], &byte, 1);
		times(9, __NR_getgid, 0);
		await(0);
		leave(3);
	}
	for (; count; count--)
		for (int i = 0; i <= 40; i++) {
			made = CALL0(__NR_fork);
			if (made == 0) {
				if (i)
					times(7, __NR_getuid, 0);
				else
					times(1200000, __NR_getppid, 0);
				leave(i ? 2 : 1);
			}
			wait_for(made);
			if (i)
				CALL2(__NR_nanosleep, pause, 0);
		}
	CALL1(__NR_close, pipe_ends[1]);
	wait_for(sleeper);
}

/* 1 prctl, 2 fork, 2 wait4: two children by that name, one of which execs `leaf`. */
static void named(const char *name)
{
	long made;

	call6(__NR_prctl, NAME, (long)name, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		made = CALL0(__NR_fork);
		if (made == 0) {
			if (i)
				exec_self("leaf");
			leave(0);
		}
		wait_for(made);
	}
}

/* 9 getppid by the 32-bit table (64), 4 close that fail (6), 2 getpid by the native one. */
static void old_calls(void)
{
	long answer;

	for (int i = 0; i < 13; i++)
		__asm__ volatile("int $0x80"
		                 : "=a"(answer)
		                 : "a"(i < 9 ? 64L : 6L), "b"(-1L)
		                 : "memory", "r8", "r9", "r10", "r11");
	times(2, __NR_getpid, 0);
}

/* Who it runs as: 1 geteuid; leaves with 0 for root, else 1. 20 getppid. */
static long privileged(void)
{
	leaf();
	return CALL0(__NR_geteuid) != 0;
}

/* 1 write to one descriptor: it has come. 1 read from the other, which all of the tree share and
 * whose end is the moment. */
static void meet(void)
{
	char byte = '.';

	CALL3(__NR_write, meeting.come, &byte, 1);
	CALL3(__NR_read, meeting.opens, &byte, 1);
}

static void thread_meets(long argument)
{
	meet();
	times(1000 * (argument + 1), __NR_gettid, 0);
	CALL1(__NR_exit, 0);
}

/* tree COME OPENS: 10 tasks that wait at their meeting: 3 threads besides the first, 3 children, 3
 * grandchildren. After it: the first thread 300 getppid, the others 1000, 2000 and 3000 gettid and
 * 1 exit each; each child 10 getuid, 1 fork of a further child (2 getuid) and 2 wait4; each
 * grandchild 7 getgid; the first 3 wait4. Before it calls that must not be counted: 17 getpgrp, and
 * 19 of each grandchild. */
static void tree(void)
{
	long made;

	times(17, __NR_getpgrp, 0);
	for (int i = 0; i < 3; i++)
		if (CALL0(__NR_fork) == 0) {
			if (CALL0(__NR_fork) == 0) {
				times(19, __NR_getpgrp, 0);
				meet();
				times(7, __NR_getgid, 0);
				leave(0);
			}
			meet();
			times(10, __NR_getuid, 0);
			made = CALL0(__NR_fork);
			if (made == 0) {
				times(2, __NR_getuid, 0);
				leave(0);
			}
			wait_for(-1);
			wait_for(-1);
			leave(0);
		}
	for (int i = 0; i < 3; i++)
		thread(i, thread_meets, i);
	meet();
	times(300, __NR_getppid, 0);
	for (int i = 0; i < 3; i++)
		await(i);
	for (int i = 0; i < 3; i++)
		wait_for(-1);
}

/* Until it is killed: children that live for 3 getppid each, as fast as they come. */
static void storm(void)
{
	for (;;)
		many(1);
}

static int is(const char *one, const char *other)
{
	while (*one && *one == *other)
		one++, other++;
	return *one == *other;
}

static const struct {
	const char *name;
	void (*perform)(void);
} verbs[] = {
	{ "leaf", leaf },
	{ "plain", plain },
	{ "failing", failing },
	{ "unknown", unknown },
	{ "forks", forks },
	{ "vforks", vforks },
	{ "threads", threads },
	{ "exec", exec },
	{ "killed", killed },
	{ "signals", signals },
	{ "stopped", stopped },
	{ "refused", refused },
	{ "thread_exec", thread_exec },
	{ "leader_first", leader_first },
	{ "cut_off", cut_off },
	{ "forks_of_a_thread", forks_of_a_thread },
	{ "crashes", crashes },
	{ "orphan", orphan },
	{ "exit_alone", exit_alone },
	{ "reuse", reuse },
	{ "old_calls", old_calls },
	{ "storm", storm },
};

_Noreturn void begin(long *stack);
_Noreturn void begin(long *stack)
{
	char **words = (char **)(stack + 1);
	long   count = stack[0], number, pause_ms;

	if (count < 2)
		leave(2);
	self = words[0];
	environment = words + count + 1;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (is(words[1], verbs[i].name)) {
			verbs[i].perform();
			leave(0);
		}
	if (is(words[1], "privileged"))
		leave(privileged());
	if (count < 3)
		leave(2);
	number_of(words[2], &number);
	if (is(words[1], "tree") && count == 4) {
		meeting.come = number;
		number_of(words[3], &meeting.opens);
		tree();
		leave(0);
	}
	if (is(words[1], "tides") && count == 4) {
		number_of(words[3], &pause_ms);
		tides(number, pause_ms);
		leave(0);
	}
	if (is(words[1], "many"))
		many(number);
	else if (is(words[1], "at_once"))
		at_once(number);
	else if (is(words[1], "named"))
		named(words[2]);
	else
		leave(2);
	leave(0);
}

__asm__(".text\n"
        ".globl _start\n"
        "_start:\n"
        "	xor %ebp, %ebp\n"
        "	mov %rsp, %rdi\n"
        "	and $-16, %rsp\n"
        "	call begin\n");
