/* partner.c -- a partner without fork: this program, started again with the workload's state. See
 * workload.h.
 *
 * It is started in the trial process's job, which the agent ends when the trial has ended, however
 * it has. Addresses are told by their distance from the program's beginning: each start may lie
 * elsewhere.
 */
#include "../partner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../workloads/api/windows/error.h"
#include "../../workloads/api/workload.h"
#include "../../base/numbers.h"
#include "../place.h"
#include "../system.h"
#include "../tree.h"
#include "../trial.h"

enum { STATE_MOST = 8192, PATIENCE_MS = 1000, OWN_ARGUMENTS = 3 };

static uint64_t distance(uintptr_t address)
{
	return (uint64_t)(address - (uintptr_t)GetModuleHandleA(NULL));
}

pid_t partner_start(void (*serve)(void), void *state, size_t bytes)
{
	static char          hex[2 * STATE_MOST + 1];
	const char          *arguments[PARAMETERS_SET_MOST + 16] = { self_path(), "partner" };
	char                 serve_text[24], state_text[24];
	struct process_order order = { .arguments = arguments,
		                       .processor = place_second() + 1,
		                       .inherits_all = 1 };
	struct process       process;
	char *const         *trial;
	int                  count = trial_arguments(&trial), at = 2;

	if (bytes > STATE_MOST || count > PARAMETERS_SET_MOST + 4)
		return (pid_t)windows_failed_as(ERROR_BAD_LENGTH);
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((unsigned char *)state)[i]);
	hex[2 * bytes] = 0;
	snprintf(serve_text, sizeof(serve_text), "%" PRIu64, distance((uintptr_t)serve));
	snprintf(state_text, sizeof(state_text), "%" PRIu64, distance((uintptr_t)state));
	arguments[at++] = serve_text;
	arguments[at++] = state_text;
	arguments[at++] = hex;
	for (int i = 0; i < count; i++)
		arguments[at++] = trial[i];
	return process_start(&order, &process) ? -1 : (pid_t)process.id;
}

void partner_end(pid_t *partner)
{
	struct process     process = { .id = (intptr_t)*partner };
	struct process_end end;

	if (*partner <= 0)
		return;
	if (WaitForSingleObject((HANDLE)process.id, PATIENCE_MS) != WAIT_OBJECT_0)
		process_kill(&process);
	process_wait(&process, &end);
	*partner = -1;
}

void partner_stop(pid_t *partner)
{
	struct process process = { .id = (intptr_t)*partner };

	if (*partner > 0)
		process_kill(&process);
	partner_end(partner);
}

static int take_state(unsigned char *state, const char *hex)
{
	for (; *hex; hex += 2) {
		char byte[3] = { hex[0], hex[1], 0 }, *end;

		*state++ = (unsigned char)strtoul(byte, &end, 16);
		if (end != byte + 2)
			return -1;
	}
	return 0;
}

/* argv: SERVE STATE BYTES and the trial process's own */
int partner_process(int argc, char *argv[])
{
	uintptr_t base = (uintptr_t)GetModuleHandleA(NULL);
	uint64_t  serve, state;

	if (argc < OWN_ARGUMENTS || parse_number(argv[0], &serve) ||
	    parse_number(argv[1], &state) ||
	    trial_adopt(argc - OWN_ARGUMENTS, argv + OWN_ARGUMENTS) ||
	    (*argv[2] && take_state((unsigned char *)(base + (uintptr_t)state), argv[2])))
		return 2;
	((void (*)(void))(base + (uintptr_t)serve))();
	return 0;
}
