/* printed.c -- see printed.h. */
#include "printed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/record.h"
#include "../api/workload.h"

enum { PART_MOST = 1 << 18, ROUNDS_LAST = 64 };

static struct {
	int      hear, say; /* ends of the pipe; -1: closed */
	char    *text;
	uint64_t bytes;    /* printed, of which the first PRINTED_MOST are kept */
	sigset_t awaiting; /* the signal mask, but for the end of a child, while this process waits
	                    */
} s = { .hear = -1, .say = -1 };

static void nothing(int number)
{
	(void)number;
}

int printed_begin(void)
{
	struct sigaction action = { .sa_handler = nothing };
	sigset_t         end;

	s.text = malloc(PRINTED_MOST);
	if (!s.text)
		return fail("memory for what the command prints");
	sigemptyset(&action.sa_mask);
	sigemptyset(&end);
	sigaddset(&end, SIGCHLD);
	/* Blocked but while it is waited for: then none comes between a look and the waiting. */
	if (sigaction(SIGCHLD, &action, NULL) || sigprocmask(SIG_BLOCK, &end, &s.awaiting))
		return fail("sigaction");
	sigdelset(&s.awaiting, SIGCHLD);
	return 0;
}

static void shut(int *file)
{
	if (*file >= 0)
		close(*file);
	*file = -1;
}

int printed_open(void)
{
	int ends[2];

	shut(&s.hear);
	shut(&s.say);
	s.bytes = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	s.hear = ends[0];
	s.say = ends[1];
	return fcntl(s.hear, F_SETFL, O_NONBLOCK) ? -1 : s.say;
}

void printed_child(void)
{
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s.awaiting, NULL);
}

/* Takes what is there, in at most that many rounds; 0: until nothing is. */
static void hear(int rounds)
{
	static char rest[65536];

	for (int round = 0; s.hear >= 0 && (!rounds || round < rounds); round++) {
		int     has_room = s.bytes < PRINTED_MOST;
		ssize_t count = has_room ? read(s.hear, s.text + s.bytes,
		                                (size_t)(PRINTED_MOST - s.bytes))
		                         : read(s.hear, rest, sizeof(rest));

		if (count > 0) {
			s.bytes += (uint64_t)count;
		} else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
			shut(&s.hear); /* all who could print have ended, or closed it */
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

pid_t printed_wait(pid_t child, int *status, struct rusage *usage)
{
	shut(&s.say);
	for (;;) {
		struct pollfd waiting = { .fd = s.hear, .events = POLLIN };
		pid_t         ended;

		/* In this order: what it printed before it ended is there when its end is seen. */
		ended = wait4(child, status, WNOHANG, usage);
		if (ended) {
			hear(ROUNDS_LAST);
			shut(&s.hear);
			return ended;
		}
		hear(ROUNDS_LAST);
		if (ppoll(&waiting, s.hear >= 0, NULL, &s.awaiting) < 0 && errno != EINTR)
			return -1;
	}
}

uint64_t printed_bytes(void)
{
	return s.bytes;
}

/* A NUL would end the text; none belongs there. */
void printed_tell(uint64_t copy, int file)
{
	static char part[PART_MOST + 1];
	uint64_t    kept = s.bytes < PRINTED_MOST ? s.bytes : PRINTED_MOST, at = 0, number = 0;

	while (s.text && (at < kept || !number)) {
		uint64_t count = kept - at < PART_MOST ? kept - at : PART_MOST;

		for (uint64_t i = 0; i < count; i++)
			part[i] = s.text[at + i] ? s.text[at + i] : ' ';
		part[count] = 0;
		record_open("printed");
		record_number("copy", copy);
		record_number("part", number++);
		record_text("text", part);
		record_close(file);
		at += count;
	}
}
