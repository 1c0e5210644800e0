/* elsewhere.c -- this group where there is no Linux: as descriptors that say so. */
#ifndef __linux__
#include "../api/workload.h"

static int setup(void)
{
	return unsupported("the load generator and the server's keeper are for Linux");
}

#define cpu(name)
#define file(name)
#define footprint(name)
#define harness(name)
#define ipc(name)
#define memory(name)
#define network(name)
#define process(name)
#define storage(name)
#define syscall(name)
#define server(name_)                              \
	const struct workload workload_##name_ = { \
		.name = #name_,                    \
		.group = "server",                 \
		.summary = "not on this system",   \
		.operation = "operation",          \
		.setup = setup,                    \
		.run = nothing,                    \
		.is_absent = 1,                    \
	};
#define WORKLOAD(group, name) group(name)

static int nothing(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

#include "../list.def"
#else
typedef int nothing_here; /* ISO C wants something in every file */
#endif
