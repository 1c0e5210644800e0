/* limits.h -- what the control groups that this process lives in leave it. */
#ifndef STEELYARD_LIMITS_H
#define STEELYARD_LIMITS_H

#include <stdint.h>

/* The smaller of `bytes` and the memory limit of our control group or one above it, of either version. */
uint64_t limits_memory(uint64_t bytes);

#endif
