/* main.c -- one program with several names for its work: see usage below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "filesystem.h"
#include "fingerprint.h"
#include "guard.h"
#include "guest.h"
#include "ledger.h"
#include "partner.h"
#include "system.h"
#include "trial.h"
#include "userland.h"

static const char usage[] =
	"usage: steelyard-load VERB ...\n"
	"\n"
	"The workloads of Steelyard, and the agent that runs them on request.\n"
	"\n"
	"  agent [DIRECTORY]            read requests from standard input, write records\n"
	"  run WORKLOAD [NAME=VALUE]    one trial, its records to standard output\n"
	"  list                         the workloads and their parameters\n"
	"  describe [DIRECTORY [ROOT]]  this system's fingerprint\n"
	"  guard FD SCRATCH COMMAND     run a command, and end its whole tree when FD ends\n"
	"  ledger read|restore FD       what a killed laboratory has left to undo, and undoing it\n"
	"  userland KIND ROOT WORK PROGRAM  run a program in another userland\n"
	"  filesystem WORK NAME=VALUE -- COMMAND  run a command on a fresh file system\n"
	"  --help, --version\n"
	"\n"
	"Each trial works in its own directory below DIRECTORY ($TMPDIR, or /tmp).\n"
	"As a guest kernel's first process it is the agent, on the device STEELYARD_STREAM.\n"
	"Exit status: 0 done, 1 failed, 2 usage, 77 unsupported here.\n"
	"\n"
	"  steelyard-load run syscall\n"
	"  steelyard-load run pipe_transfer size=4096 batches=5\n"
	"  echo describe | steelyard-load agent\n";

static int guest(void)
{
	guest_begin();
	agent_loop(guest_directory());
	guest_end();
	return 1;
}

static int agent(const char *given)
{
	const char *directory = given ? given : directory_temporary();

	if (!directory_is_usable(directory)) {
		fprintf(stderr, "steelyard-load: '%s' is not a directory that can be written\n",
		        directory);
		return 2;
	}
	return given ? agent_loop(directory) : agent_loop_below(directory);
}

/* A process that a workload has started for a part of its work. */
static int member(const char *name, int argc, char *argv[])
{
	const struct workload *workload = workload_find(name);

	return workload && workload->member ? workload->member(argc, argv) : 2;
}

int main(int argc, char *argv[])
{
	const char *verb = argc > 1 ? argv[1] : "--help";

	if (!strcmp(verb, "exit")) /* the smallest program there is: see process/program.h */
		return 0;
	system_begin(argv[0]);
	if (!strcmp(verb, "member") && argc > 2)
		return member(argv[2], argc - 3, argv + 3);
	if (guest_is())
		return guest();
	if (!strcmp(verb, "trial-process"))
		return trial_process(argc - 2, argv + 2);
	if (!strcmp(verb, "partner"))
		return partner_process(argc - 2, argv + 2);
	if (!strcmp(verb, "agent") && argc <= 3)
		return agent(argc > 2 ? argv[2] : NULL);
	if (!strcmp(verb, "run") && argc > 2)
		return agent_once(directory_temporary(), argc - 2, argv + 2);
	if (!strcmp(verb, "guard"))
		return guard(argc - 2, argv + 2);
	if (!strcmp(verb, "ledger"))
		return ledger_verb(argc - 2, argv + 2);
	if (!strcmp(verb, "userland"))
		return userland(argc - 2, argv + 2);
	if (!strcmp(verb, "filesystem"))
		return filesystem(argc - 2, argv + 2);
	if (!strcmp(verb, "list") && argc == 2) {
		workloads_write();
		return records_status();
	}
	if (!strcmp(verb, "describe") && argc <= 4) {
		fingerprint_write(argc > 2 ? argv[2] : directory_temporary(),
		                  argc > 3 ? argv[3] : "");
		return records_status();
	}
	if (!strcmp(verb, "--version")) {
		hello_write();
		return records_status();
	}
	fputs(usage, strcmp(verb, "--help") ? stderr : stdout);
	return strcmp(verb, "--help") ? 2 : 0;
}
