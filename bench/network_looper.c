/* network_looper -- uses a processor, and says how much of it that was. Arguments: the processor,
 * and either nothing, then it uses up all that others leave, at the lowest priority; or the
 * microseconds that it works, and those that it then sleeps, in turn. Begins at once; at the end of
 * its input, prints the ns of processor time it had and the ns that passed. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void work(double ns)
{
	double until = read_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (read_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 1000; i++)
			continue;
}

int main(int argc, char *argv[])
{
	struct sched_param none = { 0 };
	cpu_set_t          only;
	double             had, passed, works_ns = 50e3;
	useconds_t         sleeps_us = 0;
	char               byte;

	CPU_ZERO(&only);
	CPU_SET((size_t)(argc > 1 ? atoi(argv[1]) : 0), &only);
	if (sched_setaffinity(0, sizeof(only), &only) || fcntl(0, F_SETFL, O_NONBLOCK))
		return 1;
	if (argc > 3) {
		works_ns = 1e3 * atof(argv[2]);
		sleeps_us = (useconds_t)atol(argv[3]);
	} else if (sched_setscheduler(0, SCHED_IDLE, &none)) {
		return 1;
	}
	passed = read_ns(CLOCK_MONOTONIC);
	had = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (read(0, &byte, 1) != 0) {
		work(works_ns);
		if (sleeps_us)
			usleep(sleeps_us);
	}
	printf("%.0f %.0f\n", read_ns(CLOCK_PROCESS_CPUTIME_ID) - had,
	       read_ns(CLOCK_MONOTONIC) - passed);
	return 0;
}
