/* allowance.h -- what the control groups that this process lives in leave it. */
#ifndef STEELYARD_ALLOWANCE_H
#define STEELYARD_ALLOWANCE_H

#include <stdint.h>

/* The smaller of `bytes` and the memory limit of our control group or one above it, of either
 * version. */
uint64_t allowance_memory(uint64_t bytes);

#endif
