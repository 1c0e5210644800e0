/* network_soaker -- uses up what a processor has left, at the lowest priority, and says how much that was: what
 * others did not get is what they used. Arguments: the processor. Begins at once; at the end of its input, prints
 * the ns it got and the ns that passed. */
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

int main(int argc, char *argv[])
{
	struct sched_param none = { 0 };
	cpu_set_t          only;
	double             began, passed;
	char               byte;

	CPU_ZERO(&only);
	CPU_SET((size_t)(argc > 1 ? atoi(argv[1]) : 0), &only);
	if (sched_setaffinity(0, sizeof(only), &only) || sched_setscheduler(0, SCHED_IDLE, &none) ||
	    fcntl(0, F_SETFL, O_NONBLOCK))
		return 1;
	passed = read_ns(CLOCK_MONOTONIC);
	began = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (read(0, &byte, 1) != 0)
		for (volatile int i = 0; i < 100000; i++)
			continue;
	printf("%.0f %.0f\n", read_ns(CLOCK_PROCESS_CPUTIME_ID) - began, read_ns(CLOCK_MONOTONIC) - passed);
	return 0;
}
