/* network_ping_pong -- one byte to another process and back over TCP, as one would write it by hand: prints the
 * mean of so many round trips in ns. Arguments: the number; the processors of both ends. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void keep_to(int processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)processor, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		exit(1);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int argc, char *argv[])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          length = sizeof(address);
	int                listener = socket(AF_INET, SOCK_STREAM, 0), one, on = 1;
	long               count = argc > 3 ? atol(argv[1]) : 0;
	double             began;
	char               byte = 0;

	if (count < 1 || bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		return 2;
	if (fork() == 0) {
		keep_to(atoi(argv[3]));
		one = accept(listener, NULL, NULL);
		setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		while (read(one, &byte, 1) == 1 && write(one, &byte, 1) == 1)
			continue;
		return 0;
	}
	keep_to(atoi(argv[2]));
	one = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(one, (struct sockaddr *)&address, sizeof(address)))
		return 1;
	setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (long i = 0; i < count / 10; i++)
		if (write(one, &byte, 1) != 1 || read(one, &byte, 1) != 1)
			return 1;
	began = now_ns();
	for (long i = 0; i < count; i++)
		if (write(one, &byte, 1) != 1 || read(one, &byte, 1) != 1)
			return 1;
	printf("%.0f\n", (now_ns() - began) / (double)count);
	close(one);
	wait(NULL);
	return 0;
}
