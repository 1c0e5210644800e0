/* linpack_limit -- how many processes that do arithmetic this system completes at once.
 *
 * Measures     the largest number of processes that all can be created, get their memory and stack,
 *              solve their systems of equations and end well, where all exist before the first one
 *              begins. The workload searches for it: it doubles the number until some fail, then
 *              halves the interval until the largest number that worked and the smallest that did
 *              not are 1 % apart. Two of three tries decide each number.
 * Leaves out   how long that takes (linpack_processes).
 * Beware       a search for the limit of a machine would bring the machine down. So it runs only
 *              where a guest's memory or a control group is the limit, which the laboratory says by
 *              STEELYARD_LIMITED, and is unsupported elsewhere. When memory runs out, the kernel
 *              chooses a process to kill; the members offer themselves first (oom_score_adj).
 * After        Gonçalves (IME-USP, 2001), section 6.2: Windows NT completed 172 of 200 processes,
 *              Linux 243 of 300.
 */
#include <stdlib.h>

#include "../cpu/linp.h"
#include "group.h"

static struct group_order order = { .processes = 64, .iterations = 1, .together = 1 };
static uint64_t           most = 20000, found;

static int setup(void)
{
	if (!getenv("STEELYARD_LIMITED"))
		return unsupported(
			"only the machine itself limits memory and processes here: run it in a "
			"guest, or on a system with memory= and processes=");
	return 0;
}

/* By two of three tries: at the limit it is the moment's luck who gets the last page. */
static int completes(uint64_t processes)
{
	int good = 0, bad = 0;

	order.processes = processes;
	while (good < 2 && bad < 2)
		if (group_try(&order) == processes)
			good++;
		else
			bad++;
	return good == 2;
}

static int run(uint64_t operations)
{
	uint64_t good = 0, bad = 1;

	(void)operations; /* one search */
	while (bad <= most && completes(bad)) {
		good = bad;
		bad *= 2;
	}
	if (bad > most) {
		found = good;
		return 0;
	}
	while (bad - good > 1 && (bad - good) * 100 > good) {
		uint64_t middle = good + (bad - good) / 2;

		if (completes(middle))
			good = middle;
		else
			bad = middle;
	}
	found = good;
	return found ? 0 : fail_check("not even one process completes");
}

static const struct parameter parameters[] = {
	NUMBER("most", "largest number of processes to try", &most, 1, 20000),
	GROUP_PARAMETERS(order),
	{ 0 },
};

const struct workload workload_linpack_limit = {
	.name = "linpack_limit",
	.group = "process",
	.summary = "how many processes that do arithmetic complete at once",
	.operation = "search",
	.setup = setup,
	.run = run,
	.parameters = parameters,
	.performances = 1,
	.count = &found,
	.counts = "processes",
	.code = &linp_code,
};
