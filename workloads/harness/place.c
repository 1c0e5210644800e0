/* place.c -- see place.h, and for partners workload.h. */
#include "place.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif

#include "../workload.h"

enum { PATIENCE_MS = 1000 }; /* a partner that has read its end needs far less */

#ifdef __linux__
static int second = -1; /* the partners' processor; -1: none in particular */

static int move_to(size_t processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(processor, &only);
	return sched_setaffinity(0, sizeof(only), &only);
}

int place_take(enum place place, uint64_t turn)
{
	cpu_set_t may;
	size_t    usable[CPU_SETSIZE], count = 0;

	if (place == PLACE_FREE)
		return 0;
	if (sched_getaffinity(0, sizeof(may), &may))
		return unsupported("the processors it may use cannot be asked for: %s", strerror(errno));
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may))
			usable[count++] = i;
	if (place == PLACE_TWO && count < 2)
		return unsupported("place=2 needs two processors, and there is one");
	if (move_to(usable[turn % count]))
		return unsupported("it cannot be moved to one processor: %s", strerror(errno));
	if (place == PLACE_TWO)
		second = (int)usable[(turn + 1) % count];
	return 0;
}

int partner_place(void)
{
	return second < 0 ? 0 : move_to((size_t)second);
}
#else
int place_take(enum place place, uint64_t turn)
{
	(void)turn;
	return place == PLACE_FREE ? 0 : unsupported("no processor can be chosen here");
}

int partner_place(void)
{
	return 0;
}
#endif

pid_t partner_start(void (*serve)(void))
{
	pid_t maker = getpid(), partner = fork();

	if (partner)
		return partner;
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (getppid() != maker || partner_place())
		_exit(1);
	serve();
	_exit(0);
}

void partner_end(pid_t *partner)
{
	if (*partner <= 0)
		return;
	for (int waited = 0; waited < PATIENCE_MS; waited++) {
		pid_t ended = waitpid(*partner, NULL, WNOHANG);

		if (ended == *partner || (ended < 0 && errno != EINTR)) {
			*partner = -1;
			return;
		}
		usleep(waited < 10 ? 100 : 1000);
	}
	kill(*partner, SIGKILL);
	waitpid(*partner, NULL, 0);
	*partner = -1;
}

int read_whole(int file, void *into, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = read(file, (char *)into + got, bytes - got);

		if (more < 0 && errno == EINTR)
			continue;
		if (more == 0)
			errno = 0;
		if (more <= 0)
			return -1;
		got += (size_t)more;
	}
	return 0;
}

int write_whole(int file, const void *from, size_t bytes)
{
	size_t put = 0;

	while (put < bytes) {
		ssize_t more = write(file, (const char *)from + put, bytes - put);

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -1;
		put += (size_t)more;
	}
	return 0;
}
