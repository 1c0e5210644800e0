/* usage.h -- what the kernel has counted for this process, as getrusage tells it. */
#ifndef STEELYARD_USAGE_H
#define STEELYARD_USAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Returns 0, or -1 with errno, and zeros, where the kernel does not tell. */
static inline int usage_try(int who, struct rusage *used)
{
	if (!getrusage(who, used))
		return 0;
	*used = (struct rusage){ 0 };
	return -1;
}

/* Ends the process where the kernel does not tell: for what is wrong without it. */
static inline struct rusage usage_of(int who)
{
	struct rusage used;

	if (usage_try(who, &used)) {
		perror("steelyard: getrusage");
		exit(1);
	}
	return used;
}

#endif
