/* losses.c -- see monitor.h: what was not seen, and the sentences that say so. */
#include <inttypes.h>
#include <stdio.h>

#include "../base/record.h"
#include "command.h"
#include "monitor.h"

uint64_t lost[LOSSES];

static const struct saying {
	enum loss   loss;
	const char *of_one, *of_several, *rest;
} sayings[] = {
	{ LOST_AT_EXEC, "process", "processes",
	  "executed a program of which perf saw nothing: the kernel takes its events away where an exec "
	  "changes rights (set-user-ID, set-group-ID, file capabilities) and where a program may not be "
	  "read. From then on only /proc was read, now and then: figures are lower bounds, an end is when "
	  "the process was found gone, and children that came and went are missing" },
	{ LOST_FROM_SIGHT, "process", "processes",
	  "could no longer be read in /proc while still running (another user's, and /proc is mounted with "
	  "hidepid): figures are as they were last read, and children are missing" },
	{ LOST_FROM_GROUP, "process", "processes",
	  "came from outside into the control group that is watched: there is no record" },
	{ LOST_PROCESSORS, "processor", "processors",
	  "began to work while the watch ran: births and ends of processes there are missing" },
	{ LOST_END, "process", "processes",
	  "has ended, as its parent was told, but its end was not seen: it is the command itself" },
};

uint64_t losses(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOSSES; i++)
		sum += i == LOST_COSTS ? 0 : lost[i];
	/* What is counted already may be why these are short. */
	return sum ? sum : lost[LOST_COSTS];
}

void write_losses(void)
{
	char text[512];

	record_list("missing");
	for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
		const struct saying *saying = &sayings[i];
		uint64_t             count = lost[saying->loss];

		if (!count)
			continue;
		snprintf(text, sizeof text, "%" PRIu64 " %s %s", count,
		         count == 1 ? saying->of_one : saying->of_several, saying->rest);
		record_text(NULL, text);
	}
	if (lost[LOST_COSTS] && !command_say_costs(text, sizeof text))
		record_text(NULL, text);
	record_list_close();
}
