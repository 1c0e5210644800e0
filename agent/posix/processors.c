/* processors.c -- on which processors to run, and partners. See ../system.h and
 * workloads/api/workload.h. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "../../workloads/api/workload.h"
#include "../partner.h"
#include "../system.h"

enum { PATIENCE_MS = 1000 }; /* a partner that has read its end needs far less */

#ifdef __linux__
int processors_usable(int numbers[], int most)
{
	cpu_set_t may;
	int       count = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		return -1;
	for (int i = 0; i < CPU_SETSIZE && count < most; i++)
		if (CPU_ISSET((size_t)i, &may))
			numbers[count++] = i;
	return count;
}

int processor_take_thread(int number)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)number, &only);
	return sched_setaffinity(0, sizeof(only), &only);
}
#else
int processors_usable(int numbers[], int most)
{
	(void)numbers;
	(void)most;
	errno = ENOSYS;
	return -1;
}

int processor_take_thread(int number)
{
	(void)number;
	errno = ENOSYS;
	return -1;
}
#endif

/* By the system call: musl has no function that does it. */
void thread_gives_way(int gives_way)
{
#ifdef __linux__
	static const struct sched_param parameter;
	static int                      gives_way_now;

	if (gives_way == gives_way_now ||
	    (gives_way && syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER) ||
	    syscall(SYS_sched_setscheduler, 0, gives_way ? SCHED_BATCH : SCHED_OTHER, &parameter))
		return;
	gives_way_now = gives_way;
#else
	(void)gives_way;
#endif
}

int thread_nicer(int niceness)
{
	errno = 0;
	return nice(niceness) == -1 && errno ? -1 : 0;
}

/* Linux's affinity is a thread's own, and those it makes inherit it. */
int processor_take(int first, int second)
{
	(void)second;
	return processor_take_thread(first);
}

/* A fork has all that its maker has: there is nothing to hand over. */
pid_t partner_start(void (*serve)(void), void *state, size_t bytes)
{
	pid_t maker = getpid(), partner = fork();

	(void)state;
	(void)bytes;
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

void partner_stop(pid_t *partner)
{
	if (*partner > 0)
		kill(*partner, SIGTERM);
	partner_end(partner);
}

int partner_process(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	return 2; /* a fork needs no such verb */
}
