/* by_hand.c -- what each workload measures, as the loop that anybody would write: a second opinion.
 *
 *	by_hand [--processor N] NAME OPERATIONS BATCHES [SIZE]
 *
 * Prints each batch's ns, one a line, and ten batches more before them, which only warm. SIZE is
 * the bytes of the memory_ ones. Written from the workloads' names and descriptions alone, not from
 * their code, so that an error in one is not also in the other. Build with -O2; the memory_ ones
 * with -O3 -march=native -fno-tree-loop-distribute-patterns (else the copy's loop becomes memcpy).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WARM = 10, MANY = 100, PAGE = 4096, MAPPED = 65536, FAULTED = 1 << 20, BLOCK = 65536 };

static long must(long result, const char *call)
{
	if (result < 0) {
		perror(call);
		exit(1);
	}
	return result;
}

static void must_be(long result, long expected, const char *call)
{
	if (must(result, call) != expected) {
		fprintf(stderr, "%s: %ld, not %ld\n", call, result, expected);
		exit(1);
	}
}

static void *must_map(size_t bytes, int protection, int flags, int file)
{
	void *map = mmap(NULL, bytes, protection, flags, file, 0);

	if (map == MAP_FAILED)
		must(-1, "mmap");
	return map;
}

/* --- a file of its own */

static pid_t maker;
static char  directory[512], path[] = "file", self[512];
static int   file = -1;

static void remove_file(void)
{
	if (getpid() != maker)
		return;
	unlink(path);
	rmdir(directory);
}

/* Page by page: written at once, the kernel may keep it in larger pieces, which are mapped
 * faster. */
static void make_file(void)
{
	static const char page[PAGE];
	const char       *root = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/by-hand-XXXXXX", root ? root : "/tmp");
	if (!mkdtemp(directory))
		must(-1, "mkdtemp");
	must(chdir(directory), "chdir");
	atexit(remove_file);
	file = must(open(path, O_RDWR | O_CREAT | O_EXCL, 0600), "open");
	for (int at = 0; at < FAULTED; at += PAGE)
		must_be(write(file, page, PAGE), PAGE, "write");
}

/* --- system calls on one file */

static void run_syscall(long operations)
{
	while (operations--)
		must(syscall(SYS_getppid), "getppid");
}

static void open_zero(void)
{
	file = must(open("/dev/zero", O_RDONLY), "open");
}

static void run_read(long operations)
{
	char byte;

	while (operations--)
		must(read(file, &byte, 1), "read");
}

static void open_null(void)
{
	file = must(open("/dev/null", O_WRONLY), "open");
}

static void run_write(long operations)
{
	char byte = 0;

	while (operations--)
		must(write(file, &byte, 1), "write");
}

static void run_stat(long operations)
{
	struct stat status;

	while (operations--)
		must(stat(path, &status), "stat");
}

/* By number: some libcs make another call of it (newfstatat with an empty name), which costs
 * more. */
static void run_fstat(long operations)
{
	struct stat status;

	while (operations--)
		must(syscall(SYS_fstat, file, &status), "fstat");
}

static void run_open_close(long operations)
{
	while (operations--)
		must(close(must(open(path, O_RDONLY), "open")), "close");
}

/* --- many descriptors */

static int many[MANY], many_ready, events;

static void open_files(void)
{
	make_file();
	for (int i = 0; i < MANY; i++)
		many[i] = must(open(path, O_RDONLY), "open");
	many_ready = MANY;
}

static int listen_anywhere(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int       listener = must(socket(AF_INET, SOCK_STREAM, 0), "socket");

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
		                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(bind(listener, (struct sockaddr *)address, length), "bind");
	must(listen(listener, MANY), "listen");
	must(getsockname(listener, (struct sockaddr *)address, &length), "getsockname");
	return listener;
}

static void tcp_pair(int pair[2])
{
	struct sockaddr_in address;
	int                listener = listen_anywhere(&address), one = 1;

	pair[0] = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(connect(pair[0], (struct sockaddr *)&address, sizeof(address)), "connect");
	pair[1] = must(accept(listener, NULL, NULL), "accept");
	for (int i = 0; i < 2; i++)
		must(setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)),
		     "setsockopt");
	close(listener);
}

static void open_sockets(void)
{
	for (int i = 0; i < MANY; i++) {
		int pair[2];

		tcp_pair(pair);
		many[i] = pair[0];
	}
}

static void run_select(long operations)
{
	fd_set all;
	int    above = 0;

	FD_ZERO(&all);
	for (int i = 0; i < MANY; i++) {
		FD_SET(many[i], &all);
		if (many[i] >= above)
			above = many[i] + 1;
	}
	while (operations--) {
		fd_set         asked = all;
		struct timeval none = { 0 };

		must_be(select(above, &asked, NULL, NULL, &none), many_ready, "select");
	}
}

static void run_poll(long operations)
{
	struct pollfd asked[MANY];

	for (int i = 0; i < MANY; i++)
		asked[i] = (struct pollfd){ .fd = many[i], .events = POLLIN };
	while (operations--)
		must_be(poll(asked, MANY, 0), many_ready, "poll");
}

static void register_sockets(void)
{
	open_sockets();
	events = must(epoll_create1(0), "epoll_create1");
	for (int i = 0; i < MANY; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		must(epoll_ctl(events, EPOLL_CTL_ADD, many[i], &event), "epoll_ctl");
	}
}

static void run_epoll(long operations)
{
	struct epoll_event ready[MANY];

	while (operations--)
		must_be(epoll_wait(events, ready, MANY, 0), many_ready, "epoll_wait");
}

/* --- signals */

static void on_signal(int number)
{
	(void)number;
}

static void run_signal_install(long operations)
{
	struct sigaction action = { .sa_handler = on_signal }, stood;

	while (operations--)
		must(sigaction(SIGUSR1, &action, &stood), "sigaction");
}

static void install(void)
{
	run_signal_install(1);
}

static void run_signal_catch(long operations)
{
	pid_t me = getpid();

	while (operations--)
		must(kill(me, SIGUSR1), "kill");
}

static sigjmp_buf    after_faults;
static volatile long faults_left;

/* Returning, it has the same write fault again: one fault, one signal, one return. */
static void on_fault(int number)
{
	(void)number;
	if (--faults_left == 0)
		siglongjmp(after_faults, 1);
}

static void run_protection_fault(long operations)
{
	struct sigaction action = { .sa_handler = on_fault };
	volatile char   *page = must_map(PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	must(sigaction(SIGSEGV, &action, NULL), "sigaction");
	faults_left = operations;
	if (!sigsetjmp(after_faults, 1))
		*page = 1;
	must(munmap((void *)page, PAGE), "munmap");
}

/* --- memory and its pages */

/* All are touched in turn and then forgotten, so that the next touches are first ones again. No
 * call is made between a fault and the loop's end: a return whose call was before the fault goes
 * astray, because the kernel has overwritten what the processor foretold it by, and costs a quarter
 * more. */
static volatile char *pages;
static size_t         touched;

static void map_file(void)
{
	make_file();
	pages = must_map(FAULTED, PROT_READ, MAP_SHARED, file);
}

static inline void touch_next(int write)
{
	if (touched == FAULTED) {
		must(madvise((void *)pages, FAULTED, MADV_DONTNEED), "madvise");
		touched = 0;
	}
	if (write)
		pages[touched] = 1;
	else
		(void)pages[touched];
	touched += PAGE;
}

static void run_page_fault(long operations)
{
	while (operations--)
		touch_next(0);
}

/* Backwards: neighbours in memory are not neighbours in the file, so that none is mapped with
 * another. */
static void map_backwards(void)
{
	make_file();
	pages = must_map(FAULTED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t at = 0; at < FAULTED; at += PAGE)
		if (mmap((char *)pages + at, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file,
		         (off_t)(FAULTED - PAGE - at)) == MAP_FAILED)
			must(-1, "mmap");
}

/* No huge page, should it lie next to another area. */
static void map_memory(void)
{
	pages = must_map(FAULTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	must(madvise((void *)pages, FAULTED, MADV_NOHUGEPAGE), "madvise");
}

static void run_anonymous_fault(long operations)
{
	while (operations--)
		touch_next(1);
}

static void run_map_unmap(long operations)
{
	while (operations--)
		must(munmap(must_map(MAPPED, PROT_READ, MAP_SHARED, file), MAPPED), "munmap");
}

/* --- clocks, and calls for the scheduler */

static void run_clock_read(long operations)
{
	struct timespec now;

	while (operations--)
		must(clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void run_clock_call(long operations)
{
	struct timespec now;

	while (operations--)
		must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void run_yield(long operations)
{
	while (operations--)
		must(sched_yield(), "sched_yield");
}

static void run_futex_wake(long operations)
{
	static int word;

	while (operations--)
		must(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), "futex");
}

/* --- a partner, who ends with this process */

static int in, out; /* this process's ends */

static void partner(void (*serve)(int in, int out), int its_in, int its_out)
{
	if (must(fork(), "fork"))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != maker) /* it has ended before that took effect */
		_exit(1);
	serve(its_in, its_out);
	_exit(0);
}

static void echo(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		must_be(write(to, &byte, 1), 1, "write");
}

static void run_round_trip(long operations)
{
	char byte = 0;

	while (operations--) {
		must_be(write(out, &byte, 1), 1, "write");
		must_be(read(in, &byte, 1), 1, "read");
	}
}

/* A round trip is two hand-overs. */
static void run_hand_over(long operations)
{
	run_round_trip(operations / 2);
}

static void by_pipes(void (*serve)(int in, int out))
{
	int there[2], back[2];

	must(pipe(there), "pipe");
	must(pipe(back), "pipe");
	in = back[0];
	out = there[1];
	partner(serve, there[0], back[1]);
}

static void by_sockets(int pair[2], void (*serve)(int in, int out))
{
	in = out = pair[0];
	partner(serve, pair[1], pair[1]);
}

static void echo_by_pipes(void)
{
	by_pipes(echo);
}

static void echo_by_unix_stream(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	by_sockets(pair, echo);
}

static void echo_by_unix_datagram(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	by_sockets(pair, echo);
}

static void echo_by_tcp(void)
{
	int pair[2];

	tcp_pair(pair);
	by_sockets(pair, echo);
}

static void echo_by_udp(void)
{
	struct sockaddr_in address[2];
	int                pair[2];

	for (int i = 0; i < 2; i++) {
		socklen_t length = sizeof(address[i]);

		address[i] = (struct sockaddr_in){ .sin_family = AF_INET,
			                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		pair[i] = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
		must(bind(pair[i], (struct sockaddr *)&address[i], length), "bind");
		must(getsockname(pair[i], (struct sockaddr *)&address[i], &length), "getsockname");
	}
	for (int i = 0; i < 2; i++)
		must(connect(pair[i], (struct sockaddr *)&address[1 - i], sizeof(address[0])),
		     "connect");
	by_sockets(pair, echo);
}

/* --- locks and semaphores
 *
 * Three bytes of a file are locked. Whose turn it is has two of them; it lets go of the one that
 * the other waits for, and waits for the third, which the other has. So none can take what it has
 * just let go of, as could happen with two. */

static void lock(short kind, long byte)
{
	struct flock whole = { .l_type = kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	must(fcntl(file, F_SETLKW, &whole), "fcntl");
}

static void pass_locks(long *turn)
{
	lock(F_UNLCK, *turn);
	lock(F_WRLCK, (*turn + 1) % 3);
	*turn = (*turn + 2) % 3;
}

static void serve_locks(int from, int to)
{
	long turn = 1;

	(void)from;
	lock(F_WRLCK, 1);
	must_be(write(to, "", 1), 1, "write");
	lock(F_WRLCK, 0);
	while (1)
		pass_locks(&turn);
}

static void share_locks(void)
{
	char byte;

	make_file();
	lock(F_WRLCK, 0);
	lock(F_WRLCK, 2);
	by_pipes(serve_locks);
	must_be(read(in, &byte, 1), 1, "read");
}

static void run_lock_pass(long operations)
{
	static long turn;

	while (operations--)
		pass_locks(&turn);
}

static sem_t *there_and_back;

static void serve_semaphores(int from, int to)
{
	(void)from;
	(void)to;
	while (1) {
		must(sem_wait(&there_and_back[0]), "sem_wait");
		must(sem_post(&there_and_back[1]), "sem_post");
	}
}

static void share_semaphores(void)
{
	there_and_back = must_map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	must(sem_init(&there_and_back[0], 1, 0), "sem_init");
	must(sem_init(&there_and_back[1], 1, 0), "sem_init");
	by_pipes(serve_semaphores);
}

static void run_semaphore(long operations)
{
	while (operations--) {
		must(sem_post(&there_and_back[0]), "sem_post");
		must(sem_wait(&there_and_back[1]), "sem_wait");
	}
}

/* --- processes and threads; the program executed is this one, which leaves at once */

static char leave[] = "leave";

static void await(pid_t child)
{
	int status;

	must(waitpid(child, &status, 0), "waitpid");
	must_be(status, 0, "the child's status");
}

static void run_fork_exit(long operations)
{
	while (operations--) {
		pid_t child = must(fork(), "fork");

		if (!child)
			_exit(0);
		await(child);
	}
}

static void run_fork_exec(long operations)
{
	while (operations--) {
		pid_t child = must(fork(), "fork");

		if (!child) {
			execl(self, self, leave, (char *)NULL);
			_exit(127);
		}
		await(child);
	}
}

static void run_fork_shell(long operations)
{
	char command[600];

	snprintf(command, sizeof(command), "%s %s", self, leave);
	while (operations--) {
		pid_t child = must(fork(), "fork");

		if (!child) {
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
			_exit(127);
		}
		await(child);
	}
}

static void run_spawn(long operations)
{
	extern char **environ;
	char         *arguments[] = { self, leave, NULL };

	while (operations--) {
		pid_t child;

		must_be(posix_spawn(&child, self, NULL, NULL, arguments, environ), 0,
		        "posix_spawn");
		await(child);
	}
}

static void *thread(void *nothing)
{
	return nothing;
}

static void run_thread_create(long operations)
{
	while (operations--) {
		pthread_t made;

		must_be(pthread_create(&made, NULL, thread, NULL), 0, "pthread_create");
		must_be(pthread_join(made, NULL), 0, "pthread_join");
	}
}

/* --- connections and blocks */

static struct sockaddr_in server;

/* Ends each connection by a reset, so that neither side is left in TIME_WAIT. */
static void serve_connections(int listener, int unused)
{
	const struct linger reset = { .l_onoff = 1 };

	(void)unused;
	while (1) {
		int accepted = must(accept(listener, NULL, NULL), "accept");

		must(setsockopt(accepted, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)),
		     "setsockopt");
		must(close(accepted), "close");
	}
}

static void start_server(void)
{
	int listener = listen_anywhere(&server);

	partner(serve_connections, listener, -1);
}

/* The reset may have come before connect returns, which says so then. */
static void run_tcp_connect(long operations)
{
	while (operations--) {
		int  client = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
		char byte;

		if (connect(client, (struct sockaddr *)&server, sizeof(server)) == 0 &&
		    read(client, &byte, 1) == 0)
			must(-1, "no reset");
		if (errno != ECONNRESET)
			must(-1, "connect or read");
		must(close(client), "close");
	}
}

static char block[BLOCK] __attribute__((aligned(PAGE)));

/* As many blocks as it is told by each batch, so that none of them waits for the next batch. */
static void serve_blocks(int from, int to)
{
	long count;

	memset(block, 1, sizeof(block)); /* or it would be one page of zeros, many times over */
	while (read(from, &count, sizeof(count)) == sizeof(count))
		while (count--)
			must_be(write(to, block, BLOCK), BLOCK, "write");
}

static int asking;

static void blocks_by(int reader, int writer)
{
	int order[2];

	must(pipe(order), "pipe");
	in = reader;
	asking = order[1];
	partner(serve_blocks, order[0], writer);
}

static void blocks_by_pipe(void)
{
	int pair[2];

	must(pipe(pair), "pipe");
	blocks_by(pair[0], pair[1]);
}

static void blocks_by_unix_stream(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	blocks_by(pair[0], pair[1]);
}

static void blocks_by_tcp(void)
{
	int pair[2];

	tcp_pair(pair);
	blocks_by(pair[0], pair[1]);
}

static void run_blocks(long operations)
{
	long left = operations * BLOCK;

	must(write(asking, &operations, sizeof(operations)), "write");
	while (left)
		left -= must(read(in, block, left < BLOCK ? (size_t)left : BLOCK), "read");
}

/* --- memory's bandwidth and latency */

typedef uint64_t wide __attribute__((vector_size(32)));

struct line {
	struct line *next;
	char         rest[56];
};

static size_t       size;
static void        *area, *other;
static struct line *at;

static void *new_area(void)
{
	void *made = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);

	if (!made || !size || size % 256) {
		fprintf(stderr, "SIZE must be a multiple of 256 that fits into memory\n");
		exit(2);
	}
	memset(made, 1, size);
	return made;
}

static void make_area(void)
{
	area = new_area();
}

static void make_areas(void)
{
	area = new_area();
	other = new_area();
}

/* Two streams: more is fetched ahead than of one. Of 1 to 8, by 32 or 64 bytes, the best all in
 * all. */
static void run_memory_read(long operations)
{
	const wide *from = area;
	size_t      half = size / sizeof(wide) / 2;

	while (operations--) {
		wide a = { 0 }, b = a, c = a, d = a;

		for (size_t i = 0; i < half; i += 2) {
			a += from[i];
			b += from[i + 1];
			c += from[half + i];
			d += from[half + i + 1];
		}
		a += b + c + d;
		__asm__ volatile("" : : "m"(a) : "memory");
	}
}

static void run_memory_copy(long operations)
{
	const double *restrict from = area;
	double *restrict to = other;

	while (operations--) {
		for (size_t i = 0; i < size / sizeof(double); i++)
			to[i] = from[i];
		__asm__ volatile("" : : : "memory");
	}
}

static void run_memory_copy_libc(long operations)
{
	while (operations--) {
		memcpy(other, area, size);
		__asm__ volatile("" : : : "memory");
	}
}

#ifdef __SSE2__
/* By stores that go past the caches. */
static void run_memory_copy_bypass(long operations)
{
	while (operations--) {
		const __m128i *from = area;
		__m128i       *to = other;

		for (size_t i = 0; i < size / sizeof(*to); i++)
			_mm_stream_si128(&to[i], from[i]);
		_mm_sfence();
	}
}
#endif

/* One cycle through all lines, by Sattolo's shuffle. */
static void make_cycle(void)
{
	size_t    count = size / sizeof(struct line);
	uint32_t *order = malloc(count * sizeof(*order));

	make_area();
	at = area;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t   chosen = (((uint64_t)random() << 31) | (uint64_t)random()) % i;
		uint32_t held = order[i];

		order[i] = order[chosen];
		order[chosen] = held;
	}
	for (size_t i = 0; i < count; i++)
		at[i].next = &at[order[i]];
	free(order);
}

static void run_memory_latency(long operations)
{
	while (operations--)
		at = at->next;
	__asm__ volatile("" : : "r"(at));
}

/* --- which, and how long */

static const struct task {
	const char *name;
	void (*prepare)(void);
	void (*run)(long operations);
} tasks[] = {
	{ "syscall", NULL, run_syscall },
	{ "read_zero", open_zero, run_read },
	{ "write_null", open_null, run_write },
	{ "stat_file", make_file, run_stat },
	{ "fstat_file", make_file, run_fstat },
	{ "open_close", make_file, run_open_close },
	{ "select_files", open_files, run_select },
	{ "select_sockets", open_sockets, run_select },
	{ "poll_sockets", open_sockets, run_poll },
	{ "epoll_sockets", register_sockets, run_epoll },
	{ "signal_install", NULL, run_signal_install },
	{ "signal_catch", install, run_signal_catch },
	{ "protection_fault", NULL, run_protection_fault },
	{ "page_fault", map_file, run_page_fault },
	{ "page_fault_alone", map_backwards, run_page_fault },
	{ "anonymous_fault", map_memory, run_anonymous_fault },
	{ "map_unmap", make_file, run_map_unmap },
	{ "clock_read", NULL, run_clock_read },
	{ "clock_call", NULL, run_clock_call },
	{ "yield", NULL, run_yield },
	{ "futex_wake", NULL, run_futex_wake },
	{ "lock_pass", share_locks, run_lock_pass },
	{ "semaphore", share_semaphores, run_semaphore },
	{ "fork_exit", NULL, run_fork_exit },
	{ "fork_exec", NULL, run_fork_exec },
	{ "fork_shell", NULL, run_fork_shell },
	{ "spawn", NULL, run_spawn },
	{ "thread_create", NULL, run_thread_create },
	{ "context_switch", echo_by_pipes, run_hand_over },
	{ "pipe_latency", echo_by_pipes, run_round_trip },
	{ "unix_stream_latency", echo_by_unix_stream, run_round_trip },
	{ "unix_datagram_latency", echo_by_unix_datagram, run_round_trip },
	{ "tcp_latency", echo_by_tcp, run_round_trip },
	{ "udp_latency", echo_by_udp, run_round_trip },
	{ "tcp_connect", start_server, run_tcp_connect },
	{ "pipe_bandwidth", blocks_by_pipe, run_blocks },
	{ "unix_stream_bandwidth", blocks_by_unix_stream, run_blocks },
	{ "tcp_bandwidth", blocks_by_tcp, run_blocks },
	{ "memory_read", make_area, run_memory_read },
	{ "memory_copy", make_areas, run_memory_copy },
	{ "memory_copy_libc", make_areas, run_memory_copy_libc },
#ifdef __SSE2__
	{ "memory_copy_bypass", make_areas, run_memory_copy_bypass },
#endif
	{ "memory_latency", make_cycle, run_memory_latency },
};

static const struct task *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		if (!strcmp(tasks[i].name, name))
			return &tasks[i];
	fprintf(stderr, "there is no '%s'\n", name);
	exit(2);
}

static void stay_on(int processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(processor, &only);
	must(sched_setaffinity(0, sizeof(only), &only), "sched_setaffinity");
}

static void measure(const struct task *task, long operations, long batches)
{
	for (long batch = 0; batch < batches; batch++) {
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		task->run(operations);
		clock_gettime(CLOCK_MONOTONIC, &after);
		printf("%lld\n", (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec -
		                         before.tv_nsec);
	}
}

int main(int argc, char *argv[])
{
	const struct task *task;
	long               operations, batches;

	if (argc == 2 && !strcmp(argv[1], leave))
		return 0;
	if (argc > 2 && !strcmp(argv[1], "--processor")) {
		stay_on(atoi(argv[2]));
		argc -= 2;
		argv += 2;
	}
	if (argc < 4 || (operations = atol(argv[2])) < 1 || (batches = atol(argv[3])) < 1) {
		fprintf(stderr, "by_hand [--processor N] NAME OPERATIONS BATCHES [SIZE]\n");
		return 2;
	}
	task = find(argv[1]);
	size = argc > 4 ? (size_t)atoll(argv[4]) : 0;
	maker = getpid();
	must(readlink("/proc/self/exe", self, sizeof(self) - 1), "readlink");
	if (task->prepare)
		task->prepare();
	measure(task, operations, batches + WARM);
	return 0;
}
