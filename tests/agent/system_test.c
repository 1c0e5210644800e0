/* system_test.c -- the operating-system layer, by the product's own files: starts copies of itself,
 * which do as their first argument says. Ends with status 0, or says what is not so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock_facts.h"
#include "agent/place.h"
#include "workloads/api/sockets.h"
#include "agent/system.h"
#include "agent/tree.h"
#include "agent/trial.h"
#include "workloads/api/workload.h"

enum { CHILDREN = 150, SHARED = 4096, UP = 3, STATUS = 7 };

#define MUST(condition)                                                                      \
	do {                                                                                 \
		errors_in = __LINE__;                                                        \
		if (!(condition)) {                                                          \
			fprintf(stderr, "line %d: not so: %s (%s)\n", errors_in, #condition, \
			        system_error(errno));                                        \
			exit(1);                                                             \
		}                                                                            \
	} while (0)
static int errors_in;

/* What the files under test want of the rest of the harness. */
const char *trial_directory(void)
{
	return ".";
}

int place_second(void)
{
	return -1;
}

int partner_place(void)
{
	return 0;
}

int trial_arguments(char *const **argv)
{
	*argv = NULL;
	return 0;
}

int trial_adopt(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	return -1;
}

/* Arguments with all that a command line could stumble over. */
static const char *const awkward[] = { "",        "two words", "\"",   "a\\", "a b\\",
	                               "\\\\\"x", "tab\there", "%OS%", "^&|" };
enum { AWKWARD = sizeof(awkward) / sizeof(*awkward) };

static int child(int argc, char *argv[])
{
	if (!strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (!strcmp(argv[1], "sleep")) {
		for (;;)
			sleep(1);
	}
	if (!strcmp(argv[1], "crash"))
		__builtin_trap();
	if (!strcmp(argv[1], "count")) {
		volatile uint64_t *numbers = shared_open((intptr_t)strtoll(argv[2], NULL, 10),
		                                         SHARED);

		if (!numbers)
			return 1;
		__atomic_add_fetch(&numbers[0], 1, __ATOMIC_SEQ_CST);
		return 0;
	}
	if (!strcmp(argv[1], "say")) {
		int bad = write_whole(UP, "here\n", 5);

		/* Nothing but the one pipe has come along. */
		for (int file = UP + 1; file < 16; file++)
			bad |= write_whole(file, "x", 1) == 0;
		return bad ? 1 : 0;
	}
	if (!strcmp(argv[1], "awkward")) {
		int wrong = argc != AWKWARD + 2;

		for (int i = 0; !wrong && i < AWKWARD; i++)
			wrong = strcmp(argv[i + 2], awkward[i]) != 0;
		wrong |= !getenv("MARK") || strcmp(getenv("MARK"), "a=b c") != 0;
		return wrong;
	}
	return 99;
}

static struct process start(const struct process_order *base, const char *verb,
                            const char *argument)
{
	const char          *arguments[] = { self_path(), verb, argument, NULL };
	struct process_order order = *base;
	struct process       process;

	order.arguments = arguments;
	MUST(!process_start(&order, &process));
	return process;
}

static void ends_are_told(void)
{
	const struct process_order plain = { 0 }, group = { .is_group = 1 };
	struct process             process = start(&plain, "exit", "7");
	struct process_end         end;

	MUST(!process_wait(&process, &end) && !end.was_killed && end.status == STATUS &&
	     !process.id);
	process = start(&group, "crash", NULL);
	MUST(!process_wait(&process, &end) && end.was_killed);
	MUST(end.signal || strstr(end.reason, "exception"));
	process_forget(&process);
	process = start(&group, "sleep", NULL);
	process_kill(&process);
	MUST(!process_wait(&process, &end) && end.was_killed);
	process_forget(&process);
}

static void arguments_arrive_whole(void)
{
	const char                *arguments[AWKWARD + 3] = { self_path(), "awkward" };
	const char *const          environment[] = { "MARK=a=b c", NULL };
	const struct process_order order = { .arguments = arguments, .environment = environment };
	struct process             process;
	struct process_end         end;

	for (int i = 0; i < AWKWARD; i++)
		arguments[i + 2] = awkward[i];
	MUST(!process_start(&order, &process) && !process_wait(&process, &end) && !end.status);
}

/* More than one call of Windows can wait for, started at once; each adds one to the shared
 * memory. */
static void many_share_memory(void)
{
	static struct process processes[CHILDREN];
	intptr_t              handle;
	volatile uint64_t    *numbers = shared_make(SHARED, &handle);
	char                  text[24];
	struct process_order  order = { .handles = &handle, .handle_count = 1, .niceness = 5 };
	struct process_end    end;
	int                   usable[64];
	ptrdiff_t             which;
	int                   seen[CHILDREN] = { 0 };
	uint64_t              last_ns = 0;

	MUST(numbers && !numbers[0]);
	MUST(processors_usable(usable, 64) >= 1);
	order.processor = usable[0] + 1;
	snprintf(text, sizeof(text), "%lld", (long long)handle);
	for (int i = 0; i < CHILDREN; i++)
		processes[i] = start(&order, "count", text);
	for (int i = 0; i < CHILDREN; i++) {
		which = process_wait_any(processes, CHILDREN, i % 2 ? 60000 : -1, &end);
		MUST(which >= 0 && !seen[which] && !end.was_killed && !end.status && end.ended_ns);
		seen[which] = 1;
		last_ns = end.ended_ns;
	}
	MUST(last_ns <= clock_ns());
	MUST(process_wait_any(processes, CHILDREN, 10, &end) == -2);
	MUST(numbers[0] == CHILDREN);
	processes[0] = start(&order, "sleep", NULL);
	MUST(process_wait_any(processes, CHILDREN, 20, &end) == -2);
	process_kill(&processes[0]);
	MUST(process_wait_any(processes, CHILDREN, -1, &end) == 0 && end.was_killed);
	shared_unmap((void *)(uintptr_t)numbers, SHARED);
	shared_close(handle);
}

static void what_cannot_start_is_told(void)
{
	const char *const          arguments[] = { "./no such program", NULL };
	const struct process_order order = { .arguments = arguments };
	struct process             process;
	struct process_end         end;

	if (process_start(&order, &process))
		return; /* at once; or, where a process is a fork, by its end */
	MUST(!process_wait(&process, &end) && end.status == PROCESS_NOT_EXECUTED);
}

static void streams_tell_what_came(void)
{
	enum { PIPES = 3 };
	struct stream     *streams[PIPES];
	unsigned char      ready[PIPES];
	char               bytes[16];
	int                ends[PIPES][2];
	struct process_end end;

	for (int i = 0; i < PIPES; i++) {
		MUST(!pipe_make_private(ends[i]));
		MUST((streams[i] = stream_open(ends[i][0])) != NULL);
	}
	MUST(!streams_wait(streams, PIPES, 20, ready) && !ready[0] && !ready[1] && !ready[2]);
	const struct handed        file = { ends[1][1], UP };
	const struct process_order order = { .files = &file, .file_count = 1 };
	struct process             process = start(&order, "say", NULL);

	close(ends[1][1]);
	MUST(!streams_wait(streams, PIPES, 60000, ready) && !ready[0] && ready[1] && !ready[2]);
	MUST(stream_take(streams[1], bytes, 2) == 2 && !memcmp(bytes, "he", 2));
	MUST(stream_take(streams[1], bytes, sizeof(bytes)) == 3 && !memcmp(bytes, "re\n", 3));
	MUST(stream_take(streams[1], bytes, sizeof(bytes)) == 0);
	MUST(!process_wait(&process, &end) && !end.status);
	close(ends[0][1]);
	close(ends[2][1]);
	for (int i = 0; i < PIPES; i++) {
		MUST(stream_take(streams[i], bytes, sizeof(bytes)) == 0);
		stream_close(streams[i]);
	}
}

static void code_is_mapped_and_runs(void)
{
#ifdef __x86_64__
	static const unsigned char seven[] = { 0xb8, 7, 0, 0, 0, 0xc3 }; /* mov $7, %eax; ret */
	int (*call)(void) = NULL;
	void *start = code_map(seven, sizeof(seven));

	MUST(start);
	memcpy(&call, &start, sizeof(call));
	MUST(call() == STATUS);
	code_unmap(start, sizeof(seven));
#endif
}

/* Both ends of a connection that sends at once; `make` is socket_make or socket_make_plain. */
static void connect_both(socket_t (*make)(enum socket_kind kind), socket_t ends[2])
{
	socket_t listener = make(SOCKET_STREAM);
	uint16_t port = 0;

	MUST(listener >= 0 && !socket_bind(listener, &port) && port && !socket_listen(listener, 1));
	ends[0] = make(SOCKET_STREAM);
	MUST(ends[0] >= 0 && !socket_connect(ends[0], port));
	ends[1] = socket_accept(listener);
	MUST(ends[1] >= 0 && !socket_close(listener));
	MUST(!socket_send_at_once(ends[0]) && !socket_send_at_once(ends[1]));
	/* Nobody listens any more; the system has words for it. */
	listener = make(SOCKET_STREAM);
	MUST(listener >= 0 && socket_connect(listener, port) &&
	     socket_trouble(errno) == SOCKET_FAILED);
	MUST(strlen(system_error(errno)) > 10 && !strstr(system_error(errno), "nknown"));
	MUST(!socket_close(listener));
}

static void connections_carry_and_end(void)
{
	static const struct socket_part parts[2] = { { "head", 4 }, { "body.", 5 } };
	socket_t                        ends[2];
	char                            bytes[16];
	ssize_t                         got;

	connect_both(socket_make, ends);
	MUST(socket_write_parts(ends[0], parts) == 9);
	MUST(!socket_read_whole(ends[1], bytes, 9) && !memcmp(bytes, "headbody.", 9));
	MUST(!socket_write_whole(ends[1], "four", 4) && socket_send(ends[1], "x", 1) == 1);
	MUST(socket_read(ends[0], bytes, 2) == 2 && !socket_read_whole(ends[0], bytes + 2, 3));
	MUST(!memcmp(bytes, "fourx", 5));
	MUST(!socket_wait_at_most(ends[0], 1));
	MUST(socket_receive(ends[0], bytes, 1) == -1 && socket_trouble(errno) == SOCKET_TOO_LATE);
	MUST(!socket_close(ends[0]) && socket_read(ends[1], bytes, 1) == 0);
	errno = 1;
	MUST(socket_read_whole(ends[1], bytes, 1) == -1 && errno == 0 && !socket_close(ends[1]));
	connect_both(socket_make, ends);
	MUST(!socket_end_by_reset(ends[0]) && !socket_close(ends[0]));
	got = socket_read(ends[1], bytes, 1);
	MUST((got < 0 && socket_trouble(errno) == SOCKET_RESET) ||
	     (got == 0 && sockets_say_goodbye()));
	MUST(!socket_close(ends[1]));
}

static void datagrams_keep_their_bounds(void)
{
	socket_t one = socket_make(SOCKET_DATAGRAM), other = socket_make(SOCKET_DATAGRAM);
	uint16_t port = 0, from = 0;
	char     bytes[16];

	MUST(one >= 0 && other >= 0 && !socket_bind(one, &port) && !socket_bind(other, &from));
	MUST(port && from && port != from && !socket_connect(other, port) &&
	     !socket_connect(one, from));
	MUST(socket_write(other, "two", 3) == 3 && socket_send(other, "", 0) == 0);
	MUST(socket_read(one, bytes, sizeof(bytes)) == 3 && !memcmp(bytes, "two", 3));
	MUST(socket_read(one, bytes, sizeof(bytes)) == 0);
	MUST(!socket_close(one) && !socket_close(other));
}

static void streams_lie_over_sockets(void)
{
	socket_t ends[2];
	FILE    *out, *in;
	char     bytes[16];

	connect_both(socket_make_plain, ends);
	MUST((out = socket_stream(ends[0], "wb")) && (in = socket_stream(ends[1], "rb")));
	MUST(fwrite("one\r\ntwo\x1a", 1, 9, out) == 9 && !fflush(out));
	MUST(fread(bytes, 1, 9, in) == 9 && !memcmp(bytes, "one\r\ntwo\x1a", 9));
	MUST(!fclose(out) && !socket_close(ends[0])); /* two handles: the second close ends it */
	MUST(fread(bytes, 1, 1, in) == 0 && feof(in) && !fclose(in) && !socket_close(ends[1]));
}

static void directories_come_and_go(void)
{
	char name[] = "fresh-XXXXXX", inner[64];

	MUST(!directory_make_fresh(name) && directory_is_usable(name));
	snprintf(inner, sizeof(inner), "%s/inner", name);
	MUST(!directory_make(inner) && directory_make(inner) && *system_error(3));
	tree_remove(name);
	MUST(!directory_is_usable(name));
}

int main(int argc, char *argv[])
{
	system_begin(argv[0]);
	if (argc > 1)
		return child(argc, argv);
	ends_are_told();
	arguments_arrive_whole();
	many_share_memory();
	what_cannot_start_is_told();
	streams_tell_what_came();
	code_is_mapped_and_runs();
	directories_come_and_go();
	MUST(!sockets_begin());
	connections_carry_and_end();
	datagrams_keep_their_bounds();
	streams_lie_over_sockets();
	return 0;
}
