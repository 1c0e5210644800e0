/* linpack_processes -- many processes at once, all doing the same arithmetic.
 *
 * Measures     the price of multiprogramming. First one process alone solves `iterations` systems
 *              of equations by linpack's machine code, repeatedly for a second; the median is
 *              "alone". Then `processes` of them start one after another, as fast as the system
 *              allows, and each does the same; the metric "time" is the time from the first request
 *              to the last end. For each process the records keep when it was requested, when it
 *              began and ended, 16 moments in between, and how it ended. If sharing processors cost
 *              nothing, all together would take the time of one, times their number, divided by the
 *              number of processors; what they take beyond that is the price. The moments show how
 *              evenly the processes advance, and how late they begin.
 * Leaves out   effects through memory, unless memory= gives each process its own memory to write
 *              through. All communication.
 * Beware       processors may share caches or a clock, and then all processes together are slowed
 *              by that too. place=1 keeps everything on one processor, so that only the cost of
 *              sharing it remains. The starter competes with the processes that it has started. If
 *              they are short, the first have ended before the last are created; with gate=1 none
 *              begins before all exist. If a process cannot be created or does not finish, the
 *              trial fails, but the records of the others remain. Each process is a new start of
 *              this program (fork and exec, or the system's equivalent); with threads=1 it is a
 *              thread.
 * After        Gonçalves (IME-USP, 2001), sections 5.2 and 6.2: 100, 200 and 300 processes on Linux
 *              and Windows NT.
 */
#include "../api/system.h"
#include "../cpu/linp.h"
#include "group.h"

static struct group_order order = { .processes = 100, .iterations = 100 };

enum { ALONE_LEAST = 3, ALONE_MOST = 40 };

#define ALONE_NS 1000000000u

/* One process alone, again and again for a second: a single one would be met by any hiccup. */
static int before(uint64_t operations)
{
	struct group_order alone = order;
	uint64_t           began = clock_ns();
	int                outcome = 0;

	(void)operations; /* one performance */
	alone.processes = 1;
	for (int i = 0;
	     i < ALONE_MOST && !outcome && (i < ALONE_LEAST || clock_ns() - began < ALONE_NS); i++)
		outcome = group_perform(&alone, "alone");
	return outcome;
}

static int run(uint64_t operations)
{
	(void)operations;
	return group_perform(&order, "together");
}

static const struct parameter parameters[] = {
	NUMBER("processes", "number of processes", &order.processes, 1, 20000),
	NUMBER("gate", "1: no process begins before all exist", &order.together, 0, 1),
	GROUP_PARAMETERS(order),
	{ 0 },
};

const struct workload workload_linpack_processes = {
	.name = "linpack_processes",
	.group = "process",
	.summary = "many processes that do the same arithmetic at once",
	.operation = "performance",
	.before = before,
	.run = run,
	.parameters = parameters,
	.performances = 1,
	.tell = group_tell,
	.tells = "group",
	.member = group_member_main,
	.code = &linp_code,
};
