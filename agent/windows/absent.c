/* absent.c -- what this system lacks: the guard, ledgers, userlands, file systems, a guest's
 * duties; and the workloads of absent.def, each as a descriptor that says why, so that every system
 * lists the same workloads. */
#include "../../workloads/api/far_end.h"
#include "../../workloads/api/workload.h"

#include <stdio.h>

#include "../filesystem.h"
#include "../guard.h"
#include "../guest.h"
#include "../ledger.h"
#include "../userland.h"

int guard(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: the guard is for Linux, where systems are started\n");
	return 77;
}

int ledger_verb(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: ledgers are kept on Linux only\n");
	return 77;
}

int userland(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: userlands need Linux\n");
	return 77;
}

int far_end_start(const char *address, const char *token, char chosen[FAR_ADDRESS_ROOM],
                  uint16_t *port)
{
	(void)address;
	(void)token;
	chosen[0] = 0;
	*port = 0;
	return unsupported("the far end of network workloads is for Linux");
}

int filesystem(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "steelyard-load: file systems are made on Linux only\n");
	return 77;
}

int guest_is(void)
{
	return 0;
}

const char *guest_directory(void)
{
	return NULL;
}

void guest_pass_on(const char *environment[], int room)
{
	if (room)
		environment[0] = NULL;
}

void guest_begin(void)
{
}

int guest_pages(void)
{
	return 0;
}

void guest_end(void)
{
}

static int run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED; /* not reached: setup says unsupported */
}

#define ABSENT(group_, name_, reason)                     \
	static int name_##_setup(void)                    \
	{                                                 \
		return unsupported("%s", (reason));       \
	}                                                 \
	extern const struct workload workload_##name_;    \
	const struct workload        workload_##name_ = { \
		.name = #name_,                           \
		.group = #group_,                         \
		.summary = "not on Windows: " reason,     \
		.operation = "operation",                 \
		.setup = name_##_setup,                   \
		.run = run,                               \
		.is_absent = 1,                           \
	};
#include "absent.def"
