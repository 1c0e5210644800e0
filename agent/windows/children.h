/* children.h -- what the processes that this one has waited for have used. */
#ifndef STEELYARD_WINDOWS_CHILDREN_H
#define STEELYARD_WINDOWS_CHILDREN_H

#include <stdint.h>

#include "../../workloads/api/windows/error.h"

struct children {
	uint64_t user_ns, system_ns;
};

struct children children_used(void);

static inline uint64_t filetime_ns(FILETIME time)
{
	return ((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) * 100;
}

#endif
