/* memory.c -- how much memory this system has, and how much of it a workload may take. */
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/sysinfo.h>
#endif

#include "../workload.h"
#include "allowance.h"

static uint64_t swap_bytes;

uint64_t memory_bytes(void)
{
#ifdef __linux__
	struct sysinfo info;

	if (sysinfo(&info) == 0) {
		swap_bytes = (uint64_t)info.totalswap * info.mem_unit;
		return allowance_memory((uint64_t)info.totalram * info.mem_unit);
	}
#endif
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_allowed(void)
{
	uint64_t bytes = memory_bytes();

	/* Set by the agent in a guest that was started with a swap device: only there may a workload
	 * outgrow memory, because only the guest pages then. */
	if (getenv("STEELYARD_PAGING"))
		return (bytes + swap_bytes) / 10 * 9;
	return bytes / 4;
}
