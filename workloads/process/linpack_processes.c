/* linpack_processes -- many processes at once, each of which does the same arithmetic.
 *
 * Measures     the price of multiprogramming. First one process alone solves `iterations` systems of
 *              equations by the machine code of linpack, again and again for a second ("alone": the
 *              median of each one's own time); then `processes` of them are started one after another,
 *              as fast as the system allows, and each does the same (from the first request to the last
 *              end seen is the metric "time"). Of each it is kept when
 *              it was asked for, when it began and ended, 16 moments on the way, and how it ended. If
 *              sharing processors were free, all together would take as long as one alone, times their
 *              number, by the processors: what it takes beyond that is the price. From the moments follow
 *              how evenly the system lets them get on, and how late it lets them begin.
 * Leaves out   what processes do to each other by memory, unless memory= gives each its own to write
 *              through; and all communication.
 * Beware       where one alone has a processor that shares its caches or its clock with another's, all
 *              together pay for that too: place=1 keeps everything on one processor and leaves only what
 *              the sharing of it costs. The starter competes with those that it has started: where they are
 *              short, the first have ended before the last are made; gate=1 has all of them there before
 *              the first begins. Members that could not be created or did not finish fail the
 *              trial, but what the others did is told. A member is a new start of this program (fork and
 *              exec, or what the system has in their place); with threads=1 it is a thread.
 * After        Goncalves (IME-USP, 1999), sections 5.2 and 6.2: 100, 200 and 300 processes on Linux and
 *              Windows NT.
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
	for (int i = 0; i < ALONE_MOST && !outcome && (i < ALONE_LEAST || clock_ns() - began < ALONE_NS); i++)
		outcome = group_perform(&alone, "alone");
	return outcome;
}

static int run(uint64_t operations)
{
	(void)operations;
	return group_perform(&order, "together");
}

static const struct parameter parameters[] = {
	NUMBER("processes", "how many are started", &order.processes, 1, 20000),
	NUMBER("gate", "1: none begins before all were made", &order.together, 0, 1),
	GROUP_PARAMETERS(order),
	{ 0 },
};

const struct workload workload_linpack_processes = {
	.name         = "linpack_processes",
	.group        = "process",
	.summary      = "many processes that do the same arithmetic at once, each one's start and end",
	.operation    = "performance",
	.before       = before,
	.run          = run,
	.parameters   = parameters,
	.performances = 1,
	.tell         = group_tell,
	.member       = group_member_main,
	.code         = &linp_code,
};
