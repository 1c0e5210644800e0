/* timespec.h -- the times of POSIX as whole nanoseconds. */
#ifndef STEELYARD_TIMESPEC_H
#define STEELYARD_TIMESPEC_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline uint64_t timespec_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

#endif
