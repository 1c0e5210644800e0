/* processors.c -- on which processors to run. See ../system.h. Of the first 64: a processor group
 * is as far as one mask reaches. */
#include <errno.h>

#include "../../workloads/api/windows/error.h"
#include "../system.h"

int processors_usable(int numbers[], int most)
{
	DWORD_PTR ours, all;
	int       count = 0;

	if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all))
		return windows_failed();
	for (int i = 0; i < 64 && count < most; i++)
		if (ours >> i & 1)
			numbers[count++] = i;
	return count;
}

/* A thread's mask lies within its process's: so the process keeps both. */
int processor_take(int first, int second)
{
	DWORD_PTR mask = (DWORD_PTR)1 << first | (second < 0 ? 0 : (DWORD_PTR)1 << second);

	if (!SetProcessAffinityMask(GetCurrentProcess(), mask))
		return windows_failed();
	return processor_take_thread(first);
}

int processor_take_thread(int number)
{
	return SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)1 << number) ? 0
	                                                                         : windows_failed();
}

void thread_gives_way(int gives_way)
{
	(void)gives_way;
}

int thread_nicer(int niceness)
{
	int priority = niceness >= 15  ? THREAD_PRIORITY_IDLE
	               : niceness >= 5 ? THREAD_PRIORITY_BELOW_NORMAL
	                               : THREAD_PRIORITY_NORMAL;

	return SetThreadPriority(GetCurrentThread(), priority) ? 0 : windows_failed();
}
